"""Prompted agents that act in text: ``react`` thinks before each action, ``act`` does not.

ReAct: Yao et al. 2023 (arXiv 2210.03629). The system prompt contains the environment's policy, its tools and
the format of an action. An environment with tools receives the model's whole text; one without tools receives
only the text after ``Action:``, without thoughts.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.agents.roles import chat_forms
from nlac_bench.envs.react import action_text, first_action
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.rollout.agent import Actor
from nlac_bench.rollout.engines.engine import Engine, Sample, SampleRequest, Sampling, Slot, derive_seed
from nlac_bench.rollout.engines.forms import Form
from nlac_bench.thoughts import drop_reasoning
from nlac_bench.types import Info, Message, Messages, ToolSchema, Turn


@dataclass(frozen=True)
class PromptedAgent:
    """A language model whose system prompt describes how to act."""

    name: Literal["react", "act"]
    engine: Engine
    sampling: Sampling = field(default_factory=Sampling)
    slot: Slot = "policy"
    prompts: PromptFiles = PACKAGED

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor with a new conversation."""
        return _TextActor(self, PolicyChat(self.engine, self.sampling, self.slot, seed, self._form))

    @cached_property
    def _form(self) -> Form | None:
        """The form of the model's answers. Finding out how it thinks renders its chat template."""
        if self.name != "react":
            return None
        return chat_forms.policy(chat_forms.thinking(getattr(self.engine, "tokenizer", None)))

    def prompt_hashes(self) -> dict[str, str]:
        """Return the sha256 of each prompt file that this agent may use."""
        files = (f"{self.name}_tools", f"{self.name}_plain", "tool_result")
        return {name: self.prompts.sha256(name) for name in files}


class PolicyChat:
    """The chat of one episode with a model; sampled tokens are kept and not tokenised again."""

    def __init__(
        self, engine: Engine, sampling: Sampling, slot: Slot, seed: int, form: Form | None = None
    ) -> None:
        self.messages: list[Message] = []
        self._engine, self._sampling, self._slot, self._seed = engine, sampling, slot, seed
        self._form = form
        self._turn = 0
        self._prefix_ids: list[int] | None = None

    async def ask(self, tools: tuple[ToolSchema, ...] = ()) -> Sample:
        """Sample the next assistant message; the caller must append it to ``messages``."""
        request = SampleRequest(
            messages=tuple(self.messages),
            role="policy",
            slot=self._slot,
            sampling=self._sampling,
            seed=derive_seed(self._seed, self._turn),
            tools=tools,
            prefix_ids=self._prefix_ids,
            form=self._form,
        )
        (sample,) = await self._engine.sample(request)
        self._turn += 1
        known = sample.prompt_ids is not None and sample.ids is not None
        self._prefix_ids = [*sample.prompt_ids, *sample.ids] if known else None  # type: ignore[misc]
        return sample


def as_turn(sample: Sample, text: str) -> Turn:
    """Return the turn that plays ``text`` of ``sample``; if they differ, ``info`` keeps the whole text."""
    return Turn(
        text=text,
        prompt_ids=sample.prompt_ids,
        output_ids=sample.ids,
        logprobs=sample.logprobs,
        finish=sample.finish,
        weight_version=sample.weight_version,
        usage=sample.usage,
        info={} if text == sample.text else {"full_text": sample.text},
    )


def form_of(prompt: Messages, written: str) -> dict[str, bool]:
    """Return ``in_form`` for a turn's ``info``: whether a reply has an action in ReAct's form.

    Empty if the prompt's system message shows no such action, so that it does not ask for the form.
    """
    system = str(prompt[0]["content"]) if prompt[0]["role"] == "system" else ""
    if first_action(system) is None:
        return {}
    action = first_action(drop_reasoning(written))
    return {"in_form": action is not None and action[1] < action[2]}


class _TextActor:
    def __init__(self, agent: PromptedAgent, conversation: PolicyChat) -> None:
        self._style, self._prompts = agent.name, agent.prompts
        self._chat = conversation
        self._has_tools = False

    async def act(self, observation: str, info: Info) -> Turn:
        messages = self._chat.messages
        if not messages:
            messages.append({"role": "system", "content": self._system(info)})
            messages.extend(info.get("examples", ()))
        elif info.get("action_kind") in ("tool", "invalid"):
            observation = self._prompts.fill("tool_result", observation=observation)
        messages.append({"role": "user", "content": observation})
        sample = await self._chat.ask()
        messages.append({"role": "assistant", "content": sample.text})
        turn = as_turn(sample, sample.text if self._has_tools else spoken(sample.text))
        turn.info |= form_of(messages, sample.text)
        return turn

    def _system(self, info: Info) -> str:
        policy, tools = str(info.get("policy", "")), info.get("tools", ())
        self._has_tools = bool(tools)
        if not tools:
            return self._prompts.fill(f"{self._style}_plain", policy=policy)
        listed = "\n".join(json.dumps(tool.get("function", tool), ensure_ascii=False) for tool in tools)
        return self._prompts.fill(f"{self._style}_tools", policy=policy, tools=listed)


def spoken(text: str) -> str:
    """Return the first action after ``Action:``, or all of the text; thoughts in ``<think>`` are removed."""
    return action_text(drop_reasoning(text))
