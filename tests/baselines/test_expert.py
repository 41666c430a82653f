"""Early Experience with an expert: its actions are imitated in the form that the policy's prompt asks for."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from nlac_bench.agents.floors import OracleAgent
from nlac_bench.agents.roles.chat import ChatPrompts
from nlac_bench.agents.roles.chat_forms import Thinking
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.playout import replayed
from nlac_bench.agents.roles.role_prompts import ComparingPrompts
from nlac_bench.agents.roles.transition import transitions
from nlac_bench.baselines.early_experience import Expert
from nlac_bench.envs import registry
from nlac_bench.rollout.agent import Agent
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.thoughts import drop_reasoning
from nlac_bench.types import Episode
from tests.baselines import signal_env
from tests.baselines.test_controls import learned_words
from tests.baselines.test_parts import episode, make


def imitating(prompts: ComparingPrompts, monkeypatch: pytest.MonkeyPatch) -> Any:
    tokenizer = signal_env.tokenizer()
    tokenizer.add_tokens(["Action:", "<think>", "</think>"])
    monkeypatch.setattr(signal_env, "tokenizer", lambda: tokenizer)
    early = make("early_experience", imitates="expert", world_model_share=0)
    return type(early)(replace(early.resources, prompts=prompts))


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        (CompactPrompts(), "blue-1 <|end|>"),
        (ChatPrompts(style="act"), "blue-1 <|end|>"),
        (ChatPrompts(), "Action: blue-1 <|end|>"),
        (ChatPrompts("perhaps"), "Action: blue-1 <|end|>"),
        (ChatPrompts("first"), "<think> </think> Action: blue-1 <|end|>"),
        (ChatPrompts("opened"), "</think> Action: blue-1 <|end|>"),
    ],
    ids=["compact", "act", "never", "perhaps", "first", "opened"],
)
def test_the_expert_is_imitated_in_the_form_of_the_prompt(
    prompts: ComparingPrompts, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = imitating(prompts, monkeypatch)
    asyncio.run(early.prepare([episode("blue-0", [0.0])]))
    assert learned_words(early) == [words]


@pytest.mark.parametrize("thinking", ["never", "first"])
@pytest.mark.parametrize("name", ["first_steps", "tau_retail", "twenty_questions"])
def test_the_environment_hears_what_the_oracle_does_and_nothing_else(name: str, thinking: Thinking) -> None:
    """With tools and without; the policy's parser reads each reply in full, and no thought is made up."""
    env: Any = registry.make_training_env(name)
    prompts = ChatPrompts(thinking)
    specs = [EpisodeSpec(env.name, task_id, 0, 0) for task_id in env.task_ids[:3]]

    async def play(agent: Agent) -> dict[str, Episode]:
        played = [e async for e in Driver(agent, env.fork, concurrency=3).run(specs)]
        return {e.task_id: e for e in played if isinstance(e, Episode)}

    oracle, expert = asyncio.run(play(OracleAgent())), asyncio.run(play(Expert(prompts)))
    assert len(oracle) == len(expert) == 3 and all(e.success for e in expert.values())
    for task_id, played in expert.items():
        same = zip(played.turns, oracle[task_id].turns, strict=True)
        assert all(one.observation == other.observation for one, other in same)
        steps = transitions(played, env.name, played.beginning or {})
        assert all(prompts.parse_action(t.action) == t.action and "Thought:" not in t.action for t in steps)
        assert all(drop_reasoning(t.action).startswith("Action: ") for t in steps)
        assert asyncio.run(replayed(env.fork(), steps[-1], prompts)), "the world model finds its state"
