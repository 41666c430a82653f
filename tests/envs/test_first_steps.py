"""first_steps: exact grading, disjoint splits, and examples that the agents' prompts contain."""

import asyncio
from collections import Counter
from typing import Any

import numpy as np
import pytest

from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.prompts import prompt_files
from nlac_bench.agents.roles.transition import first_state
from nlac_bench.envs import registry
from nlac_bench.envs.first_steps.tasks import FAMILIES, SIZES, matches, tasks
from nlac_bench.rollout.engines.engine import Sample, SampleRequest


def make(**kwargs: Any) -> Any:
    return registry.make("first_steps", **kwargs).unwrapped


def candidates(env: Any) -> set[str]:
    rng = np.random.default_rng(0)
    return {env.random_action(rng) for _ in range(60)}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("split", SIZES)
def test_the_oracle_wins_and_other_answers_do_not(family: str, split: str) -> None:
    env = make(split=split, family=family)
    assert len(env.task_ids) == SIZES[split]
    for task in env.task_ids[:40]:
        env.reset(options={"task_id": task})
        answer = env.oracle_action()
        assert env.step(answer)[1:3] == (1.0, True)
        env.reset(options={"task_id": task})
        for wrong in (f"The answer is {answer}", f"{answer} or 7", f"{answer}\nI am sure.", "", "."):
            _, reward, ended, _, _ = env.step(wrong)
            assert reward == 0.0
            if ended:
                env.reset(options={"task_id": task})


@pytest.mark.parametrize("reply", ["Clock(Oslo).", " clock(oslo) \n", "CLOCK(OSLO)"])
def test_case_spaces_and_a_full_stop_do_not_matter(reply: str) -> None:
    assert matches(reply, "clock(Oslo)")


def test_guesses_are_answered_and_end_with_the_third() -> None:
    env = make(family="guess")
    for task in env.task_ids:
        env.reset(options={"task_id": task})
        answer = env.oracle_action()
        low, high = sorted(candidates(env), key=int)[::2]
        for guess in (low, high):
            if guess != answer:
                observation, reward, ended, _, _ = env.step(guess)
                assert (observation, reward, ended) == ("Higher." if guess == low else "Lower.", 0.0, False)
                break
        observation, reward, ended, _, info = env.step("none of them")
        assert (reward, ended, info["action_kind"]) == (0.0, False, "invalid") and answer in observation
        assert env.step("5000")[1:3] == (0.0, True)


def test_no_content_is_in_two_splits_or_in_an_example() -> None:
    env = make()
    seen: Counter[str] = Counter()
    for split in SIZES:
        seen.update(
            {
                " ".join(sorted(step.statement.split()))
                for step in tasks(split, list(FAMILIES)).values()
                if step.family != "guess"
            }
        )
    assert max(seen.values()) == 1
    for task in env.task_ids[::50]:
        _, info = env.reset(options={"task_id": task})
        asked = [m["content"] for m in info["examples"] if m["role"] == "user"]
        assert asked and not seen & Counter(" ".join(sorted(a.split())) for a in asked)


def test_a_random_policy_wins_by_chance_only() -> None:
    env, rng, won = make(split="validation"), np.random.default_rng(0), Counter[str]()
    for task in env.task_ids:
        env.reset(options={"task_id": task})
        ended, reward = False, 0.0
        while not ended:
            _, reward, ended, _, _ = env.step(env.random_action(rng))
        won[task.split("/")[1]] += int(reward)
    assert won["date"] <= 8 and won["sort"] <= 12  # expected 1.7 and 3.3 of 20
    assert 3 <= won["larger"] <= 17 and 3 <= won["call"] <= 17  # expected 10 of 20


class Listener:
    """An engine that remembers the request and answers nothing."""

    def __init__(self) -> None:
        self.requests: list[SampleRequest] = []

    async def sample(self, request: SampleRequest) -> list[Sample]:
        self.requests.append(request)
        return [Sample("", "stop")]


@pytest.mark.parametrize("style", ["react", "act"])
def test_prompts_contain_the_rule_the_examples_and_the_question(style: Any) -> None:
    env, engine = make(), Listener()
    agent = PromptedAgent(style, engine, prompts=prompt_files(None, env.prompts))  # type: ignore[arg-type]
    observation, info = env.reset(seed=0)
    asyncio.run(agent.begin(env, 0).act(observation, info))
    system, *examples, question = engine.requests[0].messages or ()
    assert system["content"] == env.policy() and question["content"] == observation
    assert [m["role"] for m in examples] == ["user", "assistant"] * (len(examples) // 2)
    assert examples == info["examples"]


def test_states_keep_examples_apart_from_the_episode() -> None:
    env = make()
    observation, info = env.reset(seed=0)
    state = first_state("first_steps", observation, info)
    assert state.observation == observation and len(state.messages) == 1 + len(info["examples"])
    assert [m["content"] for m in state.played] == [observation]
    assert state.after("7", "Wrong.", "message").played[1:] == [
        {"role": "assistant", "content": "7"}, {"role": "user", "content": "Wrong.", "kind": "message"}
    ]  # fmt: skip
