"""Prompted agents: what the model is shown, what the environment is told, which tokens are kept."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import pytest

from nlac_bench import installed
from nlac_bench.agents import prompts, registry
from nlac_bench.agents.prompted import spoken
from nlac_bench.agents.prompts import PACKAGED
from nlac_bench.agents.registry import AgentContext, make, prompt_hashes
from nlac_bench.agents.roles.chat import ChatPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.tool_calling import action_of
from nlac_bench.envs import Outcome
from nlac_bench.envs.tau.actions import CallAction, Invalid, parse_action
from nlac_bench.errors import NlacBenchError, UnknownIdError
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, ToolCall
from nlac_bench.types import Episode
from tests.rollout.stubs import GREEDY, Guess, RuleEngine

LOOK_UP = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "The number.",
        "parameters": {"type": "object", "properties": {}},
    },
}


class Desk(Guess):
    """Guess, with a tool that tells the number and a policy that quotes a placeholder."""

    name = "desk"

    async def _respond(self, action: str) -> Outcome:
        parsed = parse_action(action)
        if isinstance(parsed, Invalid):
            return Outcome(parsed.problem, action_kind="invalid")
        if isinstance(parsed, CallAction):
            return Outcome(self.oracle_action(), action_kind="tool", tool_name=parsed.name)
        return await super()._respond(parsed.content)

    def policy(self) -> str:
        return "Find the number. Braces such as {tools} mean nothing."

    def tools(self) -> list[dict[str, Any]]:
        return [LOOK_UP]


def play(
    name: str, env: Callable[[], Any], rule: Callable[[SampleRequest], Any]
) -> tuple[Episode, RuleEngine]:
    engine = RuleEngine(rule)
    agent = make(name, AgentContext(engine=engine, sampling=GREEDY))

    async def run() -> list[Episode | Failure]:
        return [r async for r in Driver(agent, env).run([EpisodeSpec("desk", "11", 0, 5)])]

    (episode,) = asyncio.run(run())
    assert isinstance(episode, Episode), episode
    return episode, engine


def call(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def last(request: SampleRequest) -> str:
    assert request.messages is not None
    return str(request.messages[-1]["content"])


@pytest.mark.parametrize("name", ["react", "act"])
def test_text_agents_use_tools_and_speak(name: str) -> None:
    thought = "Thought: I do not know it.\nAction: " if name == "react" else ""

    def rule(request: SampleRequest) -> str:
        if last(request).startswith("Tool result:"):
            return thought + call("respond", content=last(request).removeprefix("Tool result: "))
        return thought + call("look_up")

    episode, engine = play(name, Desk, rule)
    assert episode.success and [t.info["action_kind"] for t in episode.turns] == ["tool", "message"]
    assert episode.turns[0].text == thought + call("look_up")  # raw text goes to the environment
    first, second = engine.requests
    assert first.messages is not None and second.messages is not None
    system = first.messages[0]["content"]
    assert "Braces such as {tools} mean nothing." in system
    assert json.dumps(LOOK_UP["function"]) in system
    assert [m["role"] for m in second.messages] == ["system", "user", "assistant", "user"]
    assert last(second) == "Tool result: 11"
    assert first.seed != second.seed and first.tools == ()


@pytest.mark.parametrize(
    ("written", "follows"),
    [("Thought: x\nAction: 11", True), ("**Action**: 11", True), ("<think>a</think>Action: 11", True),
     ("11", False), ("Thought: 11", False), ("Thought: x\nAction:", False),
     ("<think>Action: 1</think>11", False)],
)  # fmt: skip
def test_turns_say_whether_a_reply_has_the_form_that_the_prompt_asks_for(written: str, follows: bool) -> None:
    for name in ("react", "nlac", "act", "tool_calling"):
        episode, _ = play(name, Guess, lambda _request: written)
        asked = name in ("react", "nlac")
        assert episode.turns[0].info.get("in_form") is (follows if asked else None), name


@pytest.mark.parametrize("name", ["react", "act", "tool_calling"])
def test_agents_play_environments_without_tools(name: str) -> None:
    text = "Thought: say it. Action: maybe\nAction: 11" if name == "react" else "11"
    episode, engine = play(name, Guess, lambda _request: text)
    assert episode.success and episode.turns[0].text == "11"
    assert episode.turns[0].info.get("full_text") == (text if name == "react" else None)
    assert engine.requests[0].messages is not None
    assert "{" not in engine.requests[0].messages[0]["content"]


def test_native_calls_become_actions_and_their_results_tool_messages() -> None:
    def rule(request: SampleRequest) -> Sample:
        assert request.messages is not None and list(request.tools) == [LOOK_UP]
        if request.messages[-1]["role"] == "tool":
            return Sample(last(request), "stop")
        calls = (ToolCall("look_up", '{"why": "é"}', "c1"), ToolCall("look_up", "{}", "c2"))
        return Sample("Let me see.", "tool_calls", tool_calls=calls)

    episode, engine = play("tool_calling", Desk, rule)
    assert episode.success and len(episode.turns) == 2
    assert episode.turns[0].text == '{"name": "look_up", "arguments": {"why": "é"}}'
    assert episode.turns[0].info["full_text"] == "Let me see."
    assert engine.requests[1].messages is not None
    assistant, result = engine.requests[1].messages[-2:]
    assert [c["id"] for c in assistant["tool_calls"]] == ["c1"] == [result["tool_call_id"]]
    assert result["content"] == "11"


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", "NaN", "{}, {", '"x"', '{"a":' * 3000])
def test_broken_native_arguments_cost_a_step_and_teach(arguments: str) -> None:
    def rule(request: SampleRequest) -> Sample:
        assert request.messages is not None
        if request.messages[-1]["role"] == "tool":
            assert last(request).startswith("Invalid action")
            return Sample("11", "stop")
        return Sample("", "tool_calls", tool_calls=(ToolCall("look_up", arguments),))

    episode, _ = play("tool_calling", Desk, rule)
    assert episode.success and episode.turns[0].info["action_kind"] == "invalid"


@pytest.mark.parametrize(
    "arguments",
    [
        '{}, "name": "other"',
        '{}}, {"name": "other", "arguments": {}',
        '{"a": 1} {"b": 2}',
        '{}, "arguments": {"a": 1}',
    ],
)
def test_the_text_of_arguments_is_never_joined_to_the_action(arguments: str) -> None:
    action = action_of("look_up", arguments)
    assert json.loads(action) == {"name": "look_up", "arguments": arguments}
    assert isinstance(parse_action(action), Invalid)
    assert parse_action(action_of('a"b', '{"x": "\\u00e9\\ud800"}')) != CallAction("look_up", {})


def test_no_arguments_are_an_empty_object() -> None:
    def rule(request: SampleRequest) -> Sample:
        return Sample("", "tool_calls", tool_calls=(ToolCall("look_up", ""),))

    episode, _ = play("tool_calling", Desk, rule)
    assert {t.text for t in episode.turns} == {'{"name": "look_up", "arguments": {}}'}
    assert episode.end_reason == "max_steps"


def test_sampled_tokens_are_kept_and_handed_back() -> None:
    def rule(request: SampleRequest) -> Sample:
        prompt = [*(request.prefix_ids or [1]), 2]
        return replace(Sample("x", "stop"), prompt_ids=prompt, ids=[7, 8], logprobs=[-0.5, -0.25])

    episode, engine = play("act", Guess, rule)
    assert [r.prefix_ids for r in engine.requests[:3]] == [None, [1, 2, 7, 8], [1, 2, 7, 8, 2, 7, 8]]
    turn = episode.turns[1]
    assert (turn.prompt_ids, turn.output_ids, turn.logprobs) == ([1, 2, 7, 8, 2], [7, 8], [-0.5, -0.25])


def test_spoken_leaves_thoughts_out() -> None:
    assert spoken("<think>Action: no</think> Is it alive?") == "Is it alive?"
    assert spoken("Thought: a\n**Action:** Is it alive?") == "Is it alive?"
    assert spoken("Thought: a") == "Thought: a"
    assert spoken("Reaction: none") == "Reaction: none"


def test_prompts_are_hashed_as_files() -> None:
    hashes = prompt_hashes(make("react", AgentContext(engine=RuleEngine(lambda _r: ""))))
    folder = Path(prompts.__file__).parent / "prompts"
    assert hashes == {
        name: hashlib.sha256((folder / f"{name}.txt").read_bytes()).hexdigest()
        for name in ("react_tools", "react_plain", "tool_result")
    }
    assert prompt_hashes(make("silent", AgentContext())) == {}


def test_filled_parts_are_not_filled_again() -> None:
    assert "{tools}" in PACKAGED.fill("act_tools", policy="{tools}", tools="T")
    with pytest.raises(ValueError, match="no part"):
        PACKAGED.fill("act_plain", policy="", tools="T")


def test_registry_names_what_is_missing() -> None:
    with pytest.raises(NlacBenchError, match="--model"):
        make("react", AgentContext())
    with pytest.raises(NlacBenchError, match="training split"):
        make("constant", AgentContext())
    with pytest.raises(UnknownIdError, match=r"'reakt'.*react, act, tool_calling"):
        make("reakt", AgentContext())
    assert make("oracle", AgentContext()).name == "oracle"


def test_the_prompt_style_never_depends_on_a_missing_attribute() -> None:
    class Nameless:
        sample = logprobs = None

    with pytest.raises(NlacBenchError, match=r"the engine Nameless has no attribute 'tokenizer'.*to None"):
        make("nlac", AgentContext(engine=cast(Any, Nameless())))
    served = make("nlac", AgentContext(engine=RuleEngine(lambda request: "")))
    assert isinstance(served, PolicyAgent) and isinstance(served.prompts, ChatPrompts)


def test_plugins_are_found_and_broken_ones_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        metadata.EntryPoint("mine", "nlac_bench.agents.floors:Constant", registry.PLUGIN_GROUP),
        metadata.EntryPoint("broken", "no_such_module_here:agent", registry.PLUGIN_GROUP),
        metadata.EntryPoint("number", "nlac_bench.agents.registry:FLOORS", registry.PLUGIN_GROUP),
    ]
    monkeypatch.setattr(
        installed,
        "entry_points",
        lambda group: points if group == registry.PLUGIN_GROUP else [],
    )
    context = AgentContext()
    assert make("mine", context).begin.__self__.action is context  # type: ignore[attr-defined]
    with pytest.raises(UnknownIdError, match=r"'broken'.*cannot be loaded: ModuleNotFoundError"):
        make("broken", context)
    with pytest.raises(UnknownIdError, match=r"'number'.*not callable"):
        make("number", context)
