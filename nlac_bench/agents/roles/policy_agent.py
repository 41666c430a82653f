"""The agent that plays in the policy role; all training methods use it, in training and after it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nlac_bench.agents.prompted import as_turn, form_of
from nlac_bench.agents.roles.role_prompts import ComparingPrompts, Prompt
from nlac_bench.agents.roles.speaker import decoded
from nlac_bench.agents.roles.transition import State, first_state
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.rollout.engines.engine import Engine, Sample, SampleRequest, Sampling, Slot, derive_seed
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

    def begin(self, env: TextEnv, seed: int) -> "PolicyActor":
        """Return an actor for a new episode."""
        return PolicyActor(self, env.name, seed)

    def resume(
        self, state: State, action: str, seed: int, prefix_ids: Sequence[int] | None = None
    ) -> "PolicyActor":
        """Return an actor that continues an episode after ``action`` was taken in ``state``.

        Args:
            prefix_ids: the tokens of the conversation up to and with the action, if they are known.
        """
        actor = PolicyActor(self, state.env, seed)
        actor.state, actor.last_action = state, action
        actor._prefix_ids = None if prefix_ids is None else list(prefix_ids)
        return actor

    def prompt_hashes(self) -> dict[str, str]:
        """Return the hashes that identify the prompts (``RolePrompts.hashes``)."""
        return self.prompts.hashes()


class PolicyActor:
    """The policy in one episode. An action is proposed and then played, so that others may be played."""

    def __init__(self, agent: PolicyAgent, env: str, seed: int) -> None:
        self._agent, self._env, self._seed = agent, env, seed
        self.state: State | None = None
        self.last_action = ""
        self._prompt: Prompt | None = None
        self._prefix_ids: list[int] | None = None

    async def act(self, observation: str, info: Info) -> Turn:
        """Propose an action and play it."""
        self.hear(observation, info)
        (sample,) = await self.propose()
        return self.play(self.read(sample), sample)

    def hear(self, observation: str, info: Info) -> State:
        """Return the state after the environment's answer."""
        if self.state is None:
            self.state = first_state(self._env, observation, info)
        else:
            kind = str(info.get("action_kind", "message"))
            self.state = self.state.after(self.last_action, observation, kind)
        self._prompt = self._agent.prompts.policy(self.state)
        return self.state

    async def propose(self, n: int = 1) -> list[Sample]:
        """Sample ``n`` actions in the state."""
        agent, (state, prompt) = self._agent, self._heard
        request = SampleRequest(
            messages=prompt.messages,
            slot=agent.slot,
            sampling=agent.sampling,
            seed=derive_seed(self._seed, len(state.messages)),
            n=n,
            prefix_ids=self._prefix_ids,
            form=prompt.form,
        )
        return await agent.engine.sample(request)

    def read(self, sample: Sample) -> str:
        """Return the action of a proposal; an answer that cannot be parsed is still the action."""
        written = decoded(self._heard[1], sample)
        return self._agent.prompts.parse_action(written) or written

    def play(self, action: str, sample: Sample) -> Turn:
        """Return the turn that plays ``action``, which ``sample`` proposed or led to.

        In the latter case the turn has the proposal's prompt, but no sampled tokens.
        """
        prompts, (state, prompt) = self._agent.prompts, self._heard
        if action != self.read(sample):
            sample = replace(sample, ids=None, logprobs=None)
        self.last_action = action
        known = prompts.grows and sample.prompt_ids is not None and sample.ids is not None
        self._prefix_ids = [*sample.prompt_ids, *sample.ids] if known else None  # type: ignore[misc]
        sent = prompts.heard(action, state)
        turn = as_turn(sample, sent)
        turn.info = {} if sent == action else {"full_text": action}
        turn.info |= form_of(prompt.messages, decoded(prompt, sample))
        return turn

    @property
    def _heard(self) -> tuple[State, Prompt]:
        assert self.state is not None and self._prompt is not None, "hear() comes first"
        return self.state, self._prompt
