"""What the targets of the successor model say at the end of an episode."""

import asyncio
import gc
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.agents.nlac.lesson import Lesson, note_real_futures, note_reasons, real_future
from nlac_bench.agents.nlac.nlac import back_up
from nlac_bench.agents.roles.answers import RoleAnswers
from nlac_bench.agents.roles.chat import ChatPrompts
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.playout import play_on
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import RolePrompts
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.styles import EXPLAINS, prompts_for
from nlac_bench.agents.roles.transition import State, Transition, link, transitions
from nlac_bench.envs import registry
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.loading import load_tokenizer
from nlac_bench.types import Episode, Turn
from tests.envs.count_down import CountDown

STATE = State("demo", "be kind", (), ({"role": "user", "content": "hello", "kind": "message"},))
END = Transition(STATE, "a cat?", -1.0, None, True, False, "t", 0, 0, 0, last_words="No. You lost.")


class Scripted:
    """An engine that gives one answer, and keeps the requests."""

    tokenizer = None

    def __init__(self, answer: str) -> None:
        self.answer, self.requests = answer, list[SampleRequest]()

    async def sample(self, request: SampleRequest) -> list[Sample]:
        self.requests.append(request)
        return [Sample(self.answer, "stop")]

    async def logprobs(self, ids: Any, prompt_len: int, slot: Any = "policy") -> list[float]:
        raise NotImplementedError


def target(prompts: RolePrompts, transition: Transition, answer: str = "", by: Any = "target") -> Any:
    """The target of ``transition``, the requests that made it, and the counts of answers."""
    engine = Scripted(answer)
    roles = Speaking(engine, prompts, Sampling(), Sampling(), seed=0, concurrency=1)
    lesson = Lesson(transition, 1.0, roles.speaker("x"))
    asyncio.run(back_up(lesson, prompts, by))
    return lesson.target, engine.requests, roles.counts


# --- thoughts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", [0.0, -1.0])
def test_the_end_of_a_thought_out_episode_has_corrected_reasons(reward: float) -> None:
    """The reasons are the model's, without what could not be known; what happened is told as it was."""
    prompts = ChatPrompts(thinking="opened")
    reasons = "if it is no cat, no question is left."
    answer = f"I see</think>Reasoning: {reasons}\nPrediction: It is over.\nOutcome: failure"
    found, requests, counts = target(prompts, replace(END, reward=reward), answer)
    rewards = " The rewards of the whole task add up to -1." if reward else ""
    assert found == (
        f"<think>\n{reasons}\n</think>\n\n"
        f"Prediction: The task ends with this action: No. You lost.{rewards}\nOutcome: failure"
    )
    (request,) = requests
    assert (request.role, request.slot) == ("backup", "target") and counts["backup"] == 1
    asked = str(request.messages)
    assert "No. You lost." in asked and "put whatever could not be known as a condition" in asked
    assert ("[reward -1]" in asked) == bool(reward) and "Outcome: failure" in asked
    assert target(prompts, END, answer, by="successor")[1][0].slot == "policy"


@pytest.mark.parametrize(
    "answer",
    [
        "</think>Reasoning: it must work\nPrediction: It is won.\nOutcome: success",  # of another outcome
        "</think>Prediction: It is over.\nOutcome: failure",  # without reasons
        "</think>Reasoning: why\nPrediction: It is over.",  # without an outcome
        f"</think>Reasoning: {'why ' * 6_000}\nPrediction: It is over.\nOutcome: failure",
    ],
)  # fmt: skip
def test_the_outcome_is_learned_without_reasons_that_cannot_be_read(answer: str) -> None:
    """Left out, the successes of a model that expects failure would never be learned."""
    prompts = ChatPrompts("first")
    found, _, counts = target(prompts, END, answer)
    assert found == prompts.hindsight([END.last_words], False, -1.0)
    assert counts == Counter({"backup": 1, "backup/unparseable": 1})


@pytest.mark.parametrize("prompts", [ChatPrompts(), CompactPrompts()])
def test_without_thoughts_no_model_is_asked_about_the_end(prompts: RolePrompts) -> None:
    found, requests, counts = target(prompts, END)
    assert found == prompts.hindsight([END.last_words], False, -1.0) and not requests and not counts


def test_a_compact_model_that_explains_outcomes_adds_clauses_to_what_it_was_told() -> None:
    prompts, told = CompactPrompts(explains=True), "next: No. You lost.; reward: -1; end: failure"
    found, (request,), counts = target(prompts, END, "next: Yes!; by: guessing a cat; end: failure")
    assert found == "next: No. You lost.; reward: -1; by: guessing a cat; end: failure"
    assert (request.role, request.slot) == ("backup", "target") and counts["backup"] == 1
    assert request.messages is not None
    assert str(request.messages[0]["content"]).endswith(
        f"<|user|>No. You lost. [reward -1]<|future|>{told}<|backup|>"
    )
    for answer in ("by: luck", f"by: {'x' * 5_000}; end: failure"):
        assert target(prompts, END, answer)[::2] == (told, Counter({"backup": 1, "backup/unparseable": 1}))


EPISODE = Episode(
    "demo", "t", 0, 0, terminated=True, success=False, first_observation="hello",
    turns=[Turn("an animal?", observation="Yes."), Turn("a cat?", observation="No. You lost.")],
)  # fmt: skip


def told(
    prompts: RolePrompts, answer: str, episode: Episode = EPISODE
) -> tuple[list[str | None], list[SampleRequest]]:
    """The real futures of the steps of ``episode``, asked for twice, and the requests that made them."""
    engine, new = Scripted(answer), transitions(episode, "demo", {})
    note_real_futures(new, episode, prompts)
    roles = Speaking(engine, prompts, Sampling(), Sampling(), seed=0, concurrency=4)
    lessons = [Lesson(t, 1.0, roles.speaker(t.step)) for t in new]
    found = []
    for _ in range(2):
        asyncio.run(note_reasons(lessons, roles, "x"))
        found.append([real_future(t, prompts) for t in new])
        for lesson in lessons:
            lesson.target = "by: another; end: success"
            lesson.keep()
    assert found[0] == found[1], "what a draw stores does not change what really happened"
    return found[0], engine.requests


def test_real_futures_of_a_model_that_explains_episodes_have_its_reasons() -> None:
    """Without them, they would be in a form that its evaluator was not taught to read."""
    prompts, answer = CompactPrompts(explains=True), "by: guessing a cat; right: asking; end: failure"
    found, (request,) = told(prompts, answer)
    assert found == [answer, answer] and (request.role, request.slot) == ("backup", "policy")
    ending = "<|user|>No. You lost.<|future|>next: No. You lost.; end: failure<|backup|>"
    assert request.messages is not None and str(request.messages[0]["content"]).endswith(ending)
    found, _ = told(prompts, answer.replace("failure", "success"))
    assert found == [answer, answer], "the outcome is the real one"
    found, _ = told(prompts, "no future")
    assert found == ["next: Yes.; then: No. You lost.; end: failure", "next: No. You lost.; end: failure"]


@pytest.mark.parametrize(
    ("prompts", "episode"),
    [
        (ChatPrompts(), EPISODE),
        (ChatPrompts("first"), EPISODE),  # the reasons for the end may tell what was heard later
        (CompactPrompts(), EPISODE),
        (CompactPrompts(explains=True), replace(EPISODE, terminated=False, truncated=True, success=None)),
    ],
)
def test_no_model_is_asked_about_real_futures_that_need_no_reasons(
    prompts: RolePrompts, episode: Episode
) -> None:
    found, requests = told(prompts, "by: x; end: failure", episode)
    heard = [["Yes.", "No. You lost."], ["No. You lost."]]
    plain = [prompts.hindsight(words, False, 0.0) if episode.terminated else None for words in heard]
    assert found == plain and not requests


def test_an_explaining_model_reads_no_future_whose_end_is_not_known() -> None:
    prompts, new = CompactPrompts(explains=True), transitions(EPISODE, "demo", {})
    note_real_futures(new, EPISODE, prompts)
    link(new[:1])  # the last transition was too long to be kept
    assert real_future(new[0], prompts) is None


def test_a_forgotten_episode_is_freed_at_once() -> None:
    new = transitions(EPISODE, "demo", {})
    assert new[0].end is new[1] and new[1].end is None
    gc.collect()
    gc.disable()
    try:
        del new
        assert gc.collect() == 0, "nothing waited for the collector of cycles"
    finally:
        gc.enable()


def test_the_end_that_a_compact_model_expects_does_not_change_the_outcome() -> None:
    told = "next: No. You lost.; reward: -1; by: guessing a cat; end: failure"
    found, _, counts = target(
        CompactPrompts(explains=True), END, "next: Yes!; by: guessing a cat; end: success"
    )
    assert found == told and not counts["backup/unparseable"]


def test_a_compact_model_says_in_its_tokenizer_configuration_that_it_explains_outcomes(
    tmp_path: Path,
) -> None:
    assert not isinstance(prompts_for(load_tokenizer(str(tiny.path()))), ChatPrompts)
    for name in tiny.path().iterdir():
        shutil.copyfile(name, tmp_path / name.name)
    path = tmp_path / "tokenizer_config.json"
    for said in (True, False, None):
        config = json.loads(path.read_text())
        config.pop(EXPLAINS, None)
        path.write_text(json.dumps(config if said is None else {**config, EXPLAINS: said}))
        prompts = prompts_for(load_tokenizer(str(tmp_path)))
        assert isinstance(prompts, CompactPrompts) and prompts.explains == bool(said)


# --- backups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("future", ["success", "failure"])
@pytest.mark.parametrize("written", ["success", "failure"])
@pytest.mark.parametrize(
    ("prompts", "end"),
    [
        (CompactPrompts(), "next: Yes; end: {}"),
        (ChatPrompts(), "It goes on.\n**Outcome:** {}"),
        (ChatPrompts("first"), "<think>\nOutcome: success\n</think>\n\nIt goes on.\nOutcome: {}"),
    ],
)
def test_a_backup_has_the_outcome_of_the_next_future(
    prompts: RolePrompts, end: str, written: str, future: str
) -> None:
    """Otherwise an outcome that is changed more often in one direction would be learned everywhere.

    No text is made of two: one that gives reasons for an outcome that it does not state would be learned.
    """
    engine = Scripted(end.format(written))
    counts = RoleAnswers()
    speaker = Speaker(engine, prompts, Sampling(), Sampling(), 0, counts)
    step = replace(END, terminated=False, next_state=STATE)
    then = prompts.parse_future(end.replace("goes", "went").replace("Yes", "No").format(future))
    assert then is not None
    found = asyncio.run(speaker.backup(step, "a dog?", then))
    assert found == (prompts.parse_future(end.format(written)) if written == future else then)
    assert counts["backup/changed"] == (written != future) and counts["backup"] == 1


# --- rewards ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompts", [ChatPrompts(), ChatPrompts("first"), CompactPrompts()])
@pytest.mark.parametrize("heard", [["bye"], ["on", "bye"]])
def test_a_reward_is_stated_where_it_says_more_than_success(prompts: RolePrompts, heard: list[str]) -> None:
    for success in (True, False):
        plain = prompts.hindsight(heard, success)
        for same in (None, float(success), 1 - 1e-12 if success else -0.0):
            assert prompts.hindsight(heard, success, same) == plain
        for reward, text in ((-6.0, "-6"), (0.25, "0.25"), (float(not success), str(int(not success)))):
            told = prompts.hindsight(heard, success, reward)
            assert text in told.replace(plain, "") and told != plain
            assert prompts.outcome(told) == prompts.outcome(plain) and prompts.parse_future(told)


def test_all_actions_of_an_episode_have_its_reward() -> None:
    turns = [Turn(f"ask {i}", "no", reward=-1.0, info={"action_kind": "message"}) for i in range(3)]
    turns.append(Turn("a cat", "yes", reward=0.0, info={"action_kind": "message"}))
    found = transitions(Episode("demo", "t", 0, 0, "hello", turns, True, False, True), "demo", {})
    assert [t.reward_before for t in found] == [0, -1, -2, -3]
    assert target(CompactPrompts(), found[-1])[0] == "next: yes; reward: -3; end: success"
    assert target(ChatPrompts(), found[-1])[0] == (
        "Prediction: The task ends with this action: yes The rewards of the whole task add up to -3.\n"
        "Outcome: success"
    )


def test_a_continuation_adds_to_the_rewards_before_it() -> None:
    env: Any = registry.make_training_env("twenty_questions")
    observation, _ = env.reset(seed=0)
    state = State(env.name, "", (), ({"role": "user", "content": observation, "kind": "message"},))
    agent = PolicyAgent(Scripted("Is it alive?"), CompactPrompts(), Sampling())
    earlier = replace(END, state=state, reward_before=-2.0)
    actor = agent.resume(state, "Is it alive?", 0)
    playout = asyncio.run(play_on(env, earlier, "Is it alive?", actor, agent.prompts, max_turns=3))
    assert not playout.success and playout.end is None, "it was cut after three more turns"
    assert playout.reward == -2.0 - len(playout.observations)
    assert [turn.observation for turn in playout.turns] == playout.observations[1:]
    assert [turn.reward for turn in playout.turns] == [-1.0] * 3


def test_a_continuation_that_ends_has_its_last_transition() -> None:
    env, prompts = CountDown(), CompactPrompts()
    observation, _ = env.reset(seed=0, options={"task_id": "3"})
    state = State(env.name, "", (), ({"role": "user", "content": observation, "kind": "message"},))
    actor = PolicyAgent(Scripted("1"), prompts, Sampling()).resume(state, "2", 0)
    earlier = replace(END, state=state, reward_before=-2.0, step=2)
    playout = asyncio.run(play_on(env, earlier, "2", actor, prompts, max_turns=3))
    end = playout.end
    assert end is not None and playout.success and end.success and end.terminated and end.step == 3
    assert (end.action, end.last_words) == ("1", playout.observations[1])
    said = [message["content"] for message in end.state.messages]
    assert said == ["3", "2", playout.observations[0]]
    assert (end.reward_before, end.reward, playout.reward) == (-2.0, 1.0, -1.0)
