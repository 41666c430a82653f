"""States and transitions in words: what the critic reads and what the replay holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nlac_bench.types import Episode, Message, Turn


@dataclass(frozen=True)
class State:
    """What the policy knows before it acts.

    ``messages`` are the environment's and the policy's words in turn, beginning and ending with the
    environment's (role ``user``). A message that answers a tool call or an invalid action has ``kind``
    ``tool`` or ``invalid``; what a simulated user (or the task) says has ``kind`` ``message``.
    """

    env: str
    policy: str
    tools: Sequence[Mapping[str, Any]]
    messages: tuple[Message, ...]
    prompt_ids: Sequence[int] | None = field(default=None, compare=False, repr=False)
    """The prompt as the policy saw it, where it was sampled here: earlier thoughts are kept in it as they
    were, which a chat template would strip."""

    @property
    def observation(self) -> str:
        """The newest message."""
        return str(self.messages[-1]["content"])

    def after(self, action: str, observation: str, kind: str) -> "State":
        """The state that follows when ``action`` is answered with ``observation``."""
        said = {"role": "assistant", "content": action}
        heard = {"role": "user", "content": observation, "kind": kind}
        return State(self.env, self.policy, self.tools, (*self.messages, said, heard))


@dataclass
class Transition:
    """(s, a, r, s′, terminated), and every text that the critic ever wrote about it.

    ``next_state`` is None after the last step of an episode that ended. One that an administrative cut ended
    goes on from its last state like any other: only its policy was stopped.
    """

    state: State
    action: str
    reward: float
    next_state: State | None
    terminated: bool
    success: bool | None
    """How the episode ended, for measuring the critic; never shown to it."""
    task_id: str
    seed: int
    step: int
    weight_version: int
    action_ids: Sequence[int] | None = None
    last_words: str = ""
    """The environment's answer to the last action of an episode."""
    notes: dict[str, Any] = field(default_factory=dict)
    """The newest prediction, backup target, critique and refinement, for a person to read."""


def earned(transition: Transition) -> str:
    """The step's own reward in words, where it has one: most tasks pay at their end alone."""
    return f" [reward {transition.reward:g}]" if transition.reward else ""


def first_state(env: str, observation: str, info: Mapping[str, Any]) -> State:
    """The state in which an episode begins, from what ``reset`` returned.

    Args:
        env: the environment's name.
    """
    first: Message = {"role": "user", "content": observation, "kind": "message"}
    return State(env, str(info.get("policy", "")), tuple(info.get("tools", ())), (first,))


def walk(episode: Episode, env: str, info: Mapping[str, Any]) -> Iterator[tuple[State, Turn, State]]:
    """Each turn of ``episode`` with the state before it and the state after it. A turn for which the context
    was full was never played, and is left out.

    Args:
        env: the environment's name.
        info: what ``reset`` told the agent (policy and tools; episodes do not repeat them).
    """
    state = first_state(env, episode.first_observation, info)
    for turn in episode.turns:
        if turn.played:
            state = replace(state, prompt_ids=turn.prompt_ids)
            kind = str(turn.info.get("action_kind", "message"))
            following = state.after(_said(turn), turn.observation, kind)
            yield state, turn, following
            state = following


def _said(turn: Turn) -> str:
    return str(turn.info.get("full_text", turn.text))


def transitions(episode: Episode, env: str, info: Mapping[str, Any]) -> list[Transition]:
    """The transitions of ``episode``, first to last; arguments are those of ``walk``."""
    walked = list(walk(episode, env, info))
    found = []
    for step, (state, turn, following) in enumerate(walked):
        last = step == len(walked) - 1
        ended = last and episode.terminated
        reached = following if last else walked[step + 1][0]  # the same, with the prompt that it had
        found.append(
            Transition(
                state=state,
                action=_said(turn),
                reward=turn.reward,
                next_state=None if ended else reached,
                terminated=ended,
                success=episode.success,
                task_id=episode.task_id,
                seed=episode.seed,
                step=step,
                weight_version=turn.weight_version,
                action_ids=turn.output_ids,
                last_words=turn.observation if ended else "",
            )
        )
    return found
