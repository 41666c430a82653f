"""States and transitions as text; critics read them and the replay buffer stores them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nlac_bench.agents.roles.shared import Beginning, shared_tokens, tokens
from nlac_bench.types import Episode, Message, ToolSchema, Turn


@dataclass(frozen=True, slots=True)
class State:
    """The information that the policy has before it acts.

    ``messages`` are alternating messages of the environment (role ``user``) and the policy; the first and the
    last are the environment's. The ``kind`` of an environment's message is ``tool`` for the result of a tool
    call, ``invalid`` after an invalid action, and ``message`` for text of a simulated user or of the task.
    Messages of the kind ``example`` come before the episode and show the form of answers.
    """

    env: str
    policy: str
    tools: Sequence[ToolSchema]
    messages: Sequence[Message]
    prompt_ids: Sequence[int] | None = field(default=None, compare=False, repr=False)
    """The tokens of the policy's prompt, if the engine returned them. They keep earlier thoughts, which a
    chat template would remove."""

    @property
    def played(self) -> Sequence[Message]:
        """The messages of the episode itself, without the examples before it."""
        return [message for message in self.messages if message.get("kind") != "example"]

    @property
    def observation(self) -> str:
        """The newest message."""
        return str(self.messages[-1]["content"])

    def after(self, action: str, observation: str, kind: str) -> "State":
        """Return the next state: ``action`` was taken, and the environment answered ``observation``."""
        action_message = {"role": "assistant", "content": action}
        answer = {"role": "user", "content": observation, "kind": kind}
        return State(self.env, self.policy, self.tools, (*self.messages, action_message, answer))


@dataclass(slots=True)
class Transition:
    """A transition (s, a, r, s′, terminated), with the newest texts of the critic about it.

    ``next_state`` is None for the last step of a terminated episode. The last step of a truncated episode
    has a next state, so that it bootstraps like any other step.
    """

    state: State
    action: str
    reward: float
    next_state: State | None
    terminated: bool
    success: bool | None
    """The outcome of the episode, with which the critic is measured; prompts do not contain it."""
    task_id: str
    seed: int
    step: int
    weight_version: int
    trial: int = 0
    """The episode's trial; with task, seed and step it identifies the transition."""
    action_ids: Sequence[int] | None = None
    reward_before: float = 0.0
    """The sum of the rewards of the episode's earlier steps."""
    last_words: str = ""
    """The environment's answer to the last action of a terminated episode; else empty."""
    notes: dict[str, object] = field(default_factory=dict)
    """The newest prediction, backup target, critique and refinement."""
    end: "Transition | None" = field(default=None, compare=False, repr=False)
    """The last transition of the episode if it terminated; None for that one itself. See ``link``."""

    @property
    def answered(self) -> str:
        """The environment's answer to the action."""
        return self.last_words if self.next_state is None else self.next_state.observation


def earned(transition: Transition) -> str:
    """Return the step's reward as text; empty if it is 0, as in most steps of most tasks."""
    return f" [reward {transition.reward:g}]" if transition.reward else ""


def beyond_success(reward: float | None, success: bool) -> str:
    """Return an episode's reward as text; empty if it is unknown, or if it says no more than ``success``."""
    if reward is None:
        return ""
    text = f"{reward + 0.0:g}"  # not "-0"
    return "" if text == f"{float(success):g}" else text


def first_state(env: str, observation: str, info: Mapping[str, Any]) -> State:
    """Return the first state of an episode.

    Args:
        env: the environment's name.
        observation: the observation that ``reset`` returned.
        info: the ``info`` that ``reset`` returned.
    """
    first: Message = {"role": "user", "content": observation, "kind": "message"}
    examples = ({**message, "kind": "example"} for message in info.get("examples", ()))
    messages = (*examples, first)
    return State(env, str(info.get("policy", "")), tuple(info.get("tools", ())), messages)


def walk(episode: Episode, env: str, info: Mapping[str, object]) -> Iterator[tuple[State, Turn, State]]:
    """Yield each turn of ``episode`` with the states before and after it.

    A turn that did not fit into the context was not played and is left out.

    Args:
        env: the environment's name.
        info: what ``reset`` told the policy in this episode; see ``Episode.beginning``.
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


def transitions(episode: Episode, env: str, info: Mapping[str, object]) -> list[Transition]:
    """Return the transitions of ``episode`` in order; the arguments are those of ``walk``.

    Their states share one copy of the conversation and of the tokens.
    """
    walked = list(walk(episode, env, info))
    states, played, earned_before = _states(walked, episode.terminated), [], 0.0
    for step, (_, turn, _) in enumerate(walked):
        ended = episode.terminated and step == len(walked) - 1
        played.append(
            Transition(
                state=states[step],
                action=_said(turn),
                reward=turn.reward,
                next_state=None if ended else states[step + 1],
                terminated=ended,
                success=episode.success,
                task_id=episode.task_id,
                seed=episode.seed,
                step=step,
                weight_version=turn.weight_version,
                trial=episode.trial,
                action_ids=None if turn.output_ids is None else tokens(turn.output_ids),
                reward_before=earned_before,
                last_words=turn.observation if ended else "",
            )
        )
        earned_before += turn.reward
    link(played)
    return played


def link(played: Sequence[Transition]) -> None:
    """Let the earlier transitions of an episode refer to its last one; to none if it was cut, or if the last
    one is not among them."""
    end = played[-1] if played and played[-1].terminated else None
    for transition in played:
        transition.end = None if transition is end else end  # a cycle would stay in memory


def _states(walked: Sequence[tuple[State, Turn, State]], terminated: bool) -> list[State]:
    """Return the states of an episode in order, without the one after its termination."""
    states = [state for state, _, _ in walked]
    if walked and not terminated:
        states.append(walked[-1][2])
    prompts = shared_tokens([state.prompt_ids for state in states])
    return [
        replace(state, messages=Beginning(states[-1].messages, len(state.messages)), prompt_ids=ids)
        for state, ids in zip(states, prompts, strict=True)
    ]
