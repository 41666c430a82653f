"""What plays at test time beside the policy alone: ``--refine N`` and ``--best-of N``.

::

    refine N    a ~ π(· | s), then N times:  d ~ M(· | s, a),  c ~ E(s, a, d),  a ~ π_r(· | s, a, c)
    best of N   a₁…a_N ~ π(· | s), and one of them is chosen (``Method.best_of``):
                evaluator   d ~ M(· | s, aᵢ),  c ~ E(s, aᵢ, d);  the best verdict, then the outcome of d
                heads       the highest scalar, of several heads the smallest (AgentPRM, SAC, ArCHer)
                picker      d ~ M(· | s, aᵢ);  the picker reads all (aᵢ, dᵢ) and names one, as in NLRL

All roles are the policy's own model, answer greedily, and have the prompts of NLAC (arXiv 2512.04601) and
NLRL. Refinement ends at an action that is judged optimal. After an answer that cannot be parsed, the action
that it was about is played; without a choice, the most frequent candidate.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from nlac_bench.agents.methods import Method
from nlac_bench.agents.roles.policy_agent import PolicyActor, PolicyAgent
from nlac_bench.agents.roles.role_prompts import ComparingPrompts, Critique
from nlac_bench.agents.roles.speaker import ComparingSpeaker, Speaker, whole
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.styles import with_forms
from nlac_bench.agents.roles.transition import State
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import EnvInfraError, NlacBenchError
from nlac_bench.rollout.agent import Actor
from nlac_bench.rollout.engines.engine import Engine, Sample, derive_seed
from nlac_bench.rollout.meter import UsageMeter
from nlac_bench.types import Info, Role, Turn, Usage

if TYPE_CHECKING:
    from nlac_bench.learner.action_heads import ActionHeads


def answers_per_action(refine: int, best_of: int, chooses: str) -> tuple[int, int]:
    """Return how many prompts are read and how many answers are written for an action at most; for estimates.

    Args:
        chooses: see ``ComposedAgent.chooses``.
    """
    if best_of:
        reads, writes = {"evaluator": (2, 2), "heads": (1, 0), "picker": (1, 1)}[chooses]
        once = chooses == "picker"
        return 1 + reads * best_of + once, (1 + writes) * best_of + once
    return 1 + 3 * refine, 1 + 3 * refine


@dataclass(frozen=True)
class ComposedAgent:
    """A policy whose actions are refined, or chosen among several, before they are played.

    Args:
        policy: proposes actions.
        roles: the prompts of all other roles.
        refine: number of refinements; 0 for best of N.
        best_of: number of candidates; 0 for refinement.
        method: the training method, whose critic chooses; None for a prompted agent.
        heads: the scalar heads of the weights that play; None without any, and then the picker chooses.
    """

    policy: PolicyAgent
    roles: ComparingPrompts
    refine: int = 0
    best_of: int = 0
    method: Method | None = None
    heads: "ActionHeads | None" = None

    @property
    def name(self) -> str:
        """The agent's name without what is composed with it."""
        return self.policy.name

    @property
    def engine(self) -> Engine:
        """The engine of all roles."""
        return self.policy.engine

    @property
    def chooses(self) -> str:
        """What chooses the best of N."""
        declared = "picker" if self.method is None else self.method.best_of
        return "picker" if declared == "heads" and self.heads is None else declared

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor for a new episode."""
        # A server is not told a form's fixed words, so its model has to read them in the prompt.
        forms: Literal["filled", "free"] = "free" if self.engine.tokenizer is None else "filled"
        roles = with_forms(self.roles, forms, env.one_line)
        return _Actor(replace(self, roles=roles), self.policy.begin(env, seed), seed)

    def prompt_hashes(self) -> dict[str, str]:
        """Return the hashes that identify the prompts of the policy and of all roles."""
        return {**self.roles.hashes(), **self.policy.prompt_hashes()}

    def with_weights(self, folder: Path) -> "ComposedAgent":
        """Return the agent with the scalar heads of the weights in ``folder``, if its method has such.

        Raises:
            DataError: the file of the heads is damaged, or has other heads.
        """
        if not self.best_of or self.method is None or self.method.best_of != "heads":
            return self
        from nlac_bench.learner.action_heads import ActionHeads  # torch takes seconds to import

        return replace(self, heads=ActionHeads.read(folder, self.method.action_heads))


class _Actor:
    def __init__(self, agent: ComposedAgent, policy: PolicyActor, seed: int) -> None:
        self._agent, self._policy, self._seed = agent, policy, seed

    async def act(self, observation: str, info: Info) -> Turn:
        agent, policy = self._agent, self._policy
        state = policy.hear(observation, info)
        samples = await policy.propose(max(1, agent.best_of))
        complete = [sample for sample in samples if whole(sample)]
        meter = UsageMeter(agent.engine)
        greedy = replace(agent.policy.sampling, temperature=0.0)
        seed = derive_seed(self._seed, "roles", len(state.messages))
        speaking = Speaking(meter, agent.roles, greedy, greedy, seed, 1, ComparingSpeaker)
        proposing = sum((sample.usage for sample in samples), Usage())
        try:
            if not complete:  # it is played like that of the policy alone, or ends the episode
                turn = policy.play(policy.read(samples[0]), samples[0])
            elif agent.refine:
                turn = await self._refined(speaking, state, complete[0])
            else:
                turn = await self._best(meter, speaking, state, complete)
        except EnvInfraError as error:
            error.charge({"policy": proposing, **_by_role(meter)})
            raise
        turn.usage, turn.other_usage = proposing, _by_role(meter)
        return turn

    async def _refined(self, speaking: Speaking, state: State, sample: Sample) -> Turn:
        """Play the proposal after ``refine`` critiques and refinements."""
        action, critiques, speaker = self._policy.read(sample), [], speaking.speaker("refine")
        first = action
        for _ in range(self._agent.refine):
            _, critique = await read(speaker, state, action)
            if critique is None:
                break
            critiques.append(critique.text)
            refined = None if critique.optimal else await speaker.refine(state, action, critique)
            if refined is None:
                break
            action = refined.text
        turn = self._policy.play(action, sample)
        turn.info["composition"] = {"proposed": first, "critiques": critiques}
        return turn

    async def _best(
        self, meter: UsageMeter, speaking: Speaking, state: State, samples: Sequence[Sample]
    ) -> Turn:
        """Play the chosen one of the different candidates, which are ordered by their frequency."""
        agent, proposed = self._agent, [(self._policy.read(sample), sample) for sample in samples]
        first = dict(reversed(proposed))
        actions = [action for action, _ in Counter(action for action, _ in proposed).most_common()]
        if len(actions) == 1:
            chosen = 0
        elif agent.chooses == "heads":
            chosen = by_heads(agent, meter, [first[action] for action in actions])
        elif agent.chooses == "evaluator":
            chosen = await by_verdict(speaking, state, actions)
        else:
            chosen = await by_picker(speaking, state, actions)
        turn = self._policy.play(actions[chosen], first[actions[chosen]])
        turn.info["composition"] = {"candidates": actions, "chosen": chosen}
        return turn


def _by_role(meter: UsageMeter) -> dict[Role, Usage]:
    return {role: usage for (_, role), usage in meter.usage.items()}


async def read(speaker: Speaker, state: State, action: str) -> tuple[list[str], Critique | None]:
    """Return the predicted futures of ``action``, and the critique that reads them.

    The critique is None without futures, and if its text cannot be parsed.
    """
    futures = [future.text for future in await speaker.futures(state, action)]
    return futures, await speaker.critique(state, action, futures) if futures else None


async def by_verdict(speaking: Speaking, state: State, actions: Sequence[str]) -> int:
    """Return the index of the first action with the best verdict; of equal ones, with a predicted success."""
    worths = []
    for k, action in enumerate(actions):
        futures, critique = await read(speaking.speaker("judge", k), state, action)
        succeeds = bool(futures) and speaking.prompts.outcome(futures[0]) == "success"
        worths.append((-1.0 if critique is None else critique.score, succeeds))
    return max(range(len(actions)), key=worths.__getitem__)


async def by_picker(speaking: Speaking, state: State, actions: Sequence[str]) -> int:
    """Return the index of the action that the picker names after it has read what each leads to.

    It reads only actions whose prediction can be parsed, and names one of at least two.
    """
    speaker = cast(ComparingSpeaker, speaking.speaker("pick"))
    valued = []
    for k, action in enumerate(actions):
        if futures := await speaker.futures(state, action):
            valued.append((k, action, futures[0].text))
    if len(valued) < 2:
        return 0  # there is nothing to compare
    index = await speaker.pick(state, [(action, future) for _, action, future in valued])
    return 0 if index is None else valued[index][0]


def by_heads(agent: ComposedAgent, meter: UsageMeter, samples: Sequence[Sample]) -> int:
    """Return the index of the action with the highest scalar; what is read for it is counted as evaluation.

    Raises:
        NlacBenchError: the engine does not return tokens.
    """
    assert agent.heads is not None
    texts = [(s.prompt_ids, s.ids) for s in samples]
    sequences = [[*prompt, *ids] for prompt, ids in texts if prompt is not None and ids is not None]
    if len(sequences) < len(samples):
        raise NlacBenchError(
            f"--best-of with {agent.name} reads the tokens of actions, which this engine does not return; "
            "use --engine hf or vllm"
        )
    values = agent.heads.values(sequences)
    evaluator: Role = "evaluator"
    meter.usage["learning", evaluator] = Usage(len(sequences), sum(map(len, sequences)))
    return max(range(len(samples)), key=values.__getitem__)
