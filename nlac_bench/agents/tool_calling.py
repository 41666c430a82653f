"""The agent ``tool_calling``: the model calls functions natively, through its server or chat template."""

import json
from dataclasses import dataclass, field

from nlac_bench.agents.prompted import PolicyChat, as_turn
from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.rollout.agent import Actor
from nlac_bench.rollout.engines.engine import Engine, Sampling, Slot
from nlac_bench.types import Info, Turn


@dataclass(frozen=True)
class ToolCallingAgent:
    """A language model that receives the environment's tools as functions.

    If a turn has several calls, only the first is made, as in τ-bench. The call is passed to the environment
    as the JSON action ``{"name": …, "arguments": …}``. Arguments that are not exactly one JSON object are
    passed as a string, which makes the action invalid.
    """

    engine: Engine
    sampling: Sampling = field(default_factory=Sampling)
    slot: Slot = "policy"
    name: str = "tool_calling"
    prompts: PromptFiles = PACKAGED

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor with a new conversation."""
        return _ToolActor(PolicyChat(self.engine, self.sampling, self.slot, seed), self.prompts)

    def prompt_hashes(self) -> dict[str, str]:
        """Return the sha256 of the prompt file."""
        return {"tool_calling": self.prompts.sha256("tool_calling")}


class _ToolActor:
    def __init__(self, conversation: PolicyChat, prompts: PromptFiles) -> None:
        self._chat, self._prompts = conversation, prompts
        self._tools: tuple[dict[str, object], ...] = ()
        self._open_call: str | None = None

    async def act(self, observation: str, info: Info) -> Turn:
        messages = self._chat.messages
        if not messages:
            self._tools = tuple(info.get("tools", ()))
            system = self._prompts.fill("tool_calling", policy=str(info.get("policy", "")))
            messages.append({"role": "system", "content": system})
            messages.extend(info.get("examples", ()))
        if self._open_call is None:
            messages.append({"role": "user", "content": observation})
        else:
            messages.append({"role": "tool", "tool_call_id": self._open_call, "content": observation})
        sample = await self._chat.ask(self._tools)
        if not sample.tool_calls:
            self._open_call = None
            messages.append({"role": "assistant", "content": sample.text})
            return as_turn(sample, sample.text)
        call = sample.tool_calls[0]
        self._open_call = call.id or f"call_{len(messages)}"
        arguments = call.arguments.strip() or "{}"
        function = {"name": call.name, "arguments": arguments}
        messages.append({
            "role": "assistant",
            "content": sample.text,
            "tool_calls": [{"id": self._open_call, "type": "function", "function": function}],
        })  # fmt: skip
        return as_turn(sample, action_of(call.name, arguments))


def action_of(name: str, arguments: str) -> str:
    """Return the JSON action of a call; ``arguments`` is the text that the model wrote for them.

    The text is parsed and never joined to other JSON: ``{}, "name": "other"`` would then call another tool.
    """
    try:
        value = json.loads(arguments)
        text = json.dumps({"name": name, "arguments": value}, ensure_ascii=False)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return text
