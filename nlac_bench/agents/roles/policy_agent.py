"""The agent that plays in the policy role; all training methods use it, in training and after it."""

from dataclasses import dataclass, field

from nlac_bench.agents.prompted import as_turn, form_of
from nlac_bench.agents.roles.role_prompts import ComparingPrompts
from nlac_bench.agents.roles.transition import State, first_state
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.rollout.agent import Actor
from nlac_bench.rollout.engines.engine import Engine, SampleRequest, Sampling, Slot, derive_seed
from nlac_bench.types import Info, Turn


@dataclass(frozen=True)
class PolicyAgent:
    """An agent that samples actions from π_θ with the policy prompt of ``prompts``.

    Args:
        engine: samples from the model.
        prompts: the prompts and parsers.
        sampling: sampling parameters of actions.
        slot: the engine's weights to use.
        name: the agent's name in results, which is the name of the training method.
    """

    engine: Engine
    prompts: ComparingPrompts
    sampling: Sampling = field(default_factory=Sampling)
    slot: Slot = "policy"
    name: str = "nlac"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor for a new episode."""
        return _Actor(self, env.name, seed)

    def resume(self, state: State, action: str, seed: int) -> Actor:
        """Return an actor that continues an episode after ``action`` was taken in ``state``."""
        actor = _Actor(self, state.env, seed)
        actor.state, actor.last_action = state, action
        return actor

    def prompt_hashes(self) -> dict[str, str]:
        """Return the hashes that identify the prompts (``RolePrompts.hashes``)."""
        return self.prompts.hashes()


class _Actor:
    def __init__(self, agent: PolicyAgent, env: str, seed: int) -> None:
        self._agent, self._env, self._seed = agent, env, seed
        self.state: State | None = None
        self.last_action = ""
        self._prefix_ids: list[int] | None = None

    async def act(self, observation: str, info: Info) -> Turn:
        agent = self._agent
        if self.state is None:
            self.state = first_state(self._env, observation, info)
        else:
            kind = str(info.get("action_kind", "message"))
            self.state = self.state.after(self.last_action, observation, kind)
        prompt = agent.prompts.policy(self.state)
        request = SampleRequest(
            messages=prompt.messages,
            slot=agent.slot,
            sampling=agent.sampling,
            seed=derive_seed(self._seed, len(self.state.messages)),
            prefix_ids=self._prefix_ids,
            form=prompt.form,
        )
        (sample,) = await agent.engine.sample(request)
        written = prompt.opening + prompt.codec.decode(sample.text)
        # An answer that cannot be parsed is still passed to the environment.
        self.last_action = agent.prompts.parse_action(written) or written
        if agent.prompts.grows and sample.prompt_ids is not None and sample.ids is not None:
            self._prefix_ids = [*sample.prompt_ids, *sample.ids]
        sent = agent.prompts.heard(self.last_action, self.state)
        turn = as_turn(sample, sent)
        turn.info = {} if sent == self.last_action else {"full_text": self.last_action}
        turn.info |= form_of(prompt.messages, written)
        return turn
