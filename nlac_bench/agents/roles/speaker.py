"""One model asked in its roles: prompts go out, parsed answers come back, what cannot be read is counted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nlac_bench.agents.roles.role_prompts import Critique, Prompt, RolePrompts
from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.rollout.engines.engine import Engine, Sample, SampleRequest, Sampling, Slot, derive_seed
from nlac_bench.types import Role


@dataclass(frozen=True, slots=True)
class Action:
    """What the policy or the refiner wants to do, in the environment's words; ``sample`` is how it was
    drawn, for an answer that is trained on as it was sampled."""

    text: str
    sample: Sample


class Speaker:
    """The roles on behalf of one transition; its random numbers depend on nothing else.

    Args:
        sampling: of policy, successor, backup and aggregator; ``improvement`` of evaluator, refiner, picker.
        counts: answers by role, and those that could not be read as ``role/unparseable``; shared.
    """

    def __init__(
        self,
        engine: Engine,
        prompts: RolePrompts,
        sampling: Sampling,
        improvement: Sampling,
        seed: int,
        counts: Counter[str],
    ) -> None:
        self._engine, self._prompts = engine, prompts
        self._sampling: dict[Any, Sampling] = dict.fromkeys(("evaluator", "refiner", "picker"), improvement)
        self._default = sampling
        self._seed, self._calls, self._counts = seed, 0, counts

    async def act(self, state: State) -> Action | None:
        """a ~ π_θ(· | s)."""
        prompt = self._prompts.policy(state)
        (sample,) = await self._ask(prompt, "policy", ids=state.prompt_ids)
        text = self._prompts.parse_action(decoded(prompt, sample)) if whole(sample) else None
        return self._action(text, sample, "policy")

    async def futures(self, state: State, action: str, n: int = 1, slot: Slot = "policy") -> list[str]:
        """d⁽¹⁾…d⁽ⁿ⁾ ~ M(· | s, a), those that could be read; with slot ``target`` from the average θ̄."""
        prompt = self._prompts.successor(state, action)
        samples = await self._ask(prompt, "successor", n, slot)
        written = [self._prompts.parse_future(decoded(prompt, s)) if whole(s) else None for s in samples]
        return [future for future in written if self._readable("successor", future) and future is not None]

    async def backup(self, transition: Transition, next_action: str, next_future: str) -> str | None:
        """d ~ B(s, a, r, s′, d′)."""
        prompt = self._prompts.backup(transition, next_action, next_future)
        (sample,) = await self._ask(prompt, "backup")
        target = self._prompts.parse_future(decoded(prompt, sample)) if whole(sample) else None
        return target if self._readable("backup", target) else None

    async def critique(self, state: State, action: str, futures: Sequence[str]) -> Critique | None:
        """E(s, a, d⁽¹⁾…d⁽ᵏ⁾)."""
        prompt = self._prompts.evaluator(state, action, futures)
        (sample,) = await self._ask(prompt, "evaluator")
        found = self._prompts.parse_critique(decoded(prompt, sample)) if whole(sample) else None
        return found if self._readable("evaluator", found) else None

    async def refine(self, state: State, action: str, critique: Critique) -> Action | None:
        """a^r ~ π_r(· | s, a, critique)."""
        prompt = self._prompts.refiner(state, action, critique)
        (sample,) = await self._ask(prompt, "refiner")
        text = self._prompts.parse_refined(decoded(prompt, sample)) if whole(sample) else None
        return self._action(text, sample, "refiner")

    def _action(self, text: str | None, sample: Sample, role: Role) -> Action | None:
        return Action(text, sample) if self._readable(role, text) and text is not None else None

    async def _ask(
        self,
        prompt: Prompt,
        role: Role,
        n: int = 1,
        slot: Slot = "policy",
        ids: Sequence[int] | None = None,
    ) -> list[Sample]:
        self._calls += 1
        request = SampleRequest(
            messages=None if ids else prompt.messages,
            prompt_ids=ids or None,
            role=role,
            slot=slot,
            sampling=self._sampling.get(role, self._default),
            seed=derive_seed(self._seed, role, self._calls),
            n=n,
        )
        return await self._engine.sample(request)

    def _readable(self, role: Role, answer: object) -> bool:
        self._counts[role] += 1
        self._counts[f"{role}/unparseable"] += answer is None
        return answer is not None


def samplings(
    temperature: float, improvement_temperature: float, max_tokens: int
) -> tuple[Sampling, Sampling]:
    """How policy, successor and backup are sampled, and how evaluator and refiner are."""
    drawn = Sampling(temperature=temperature, max_tokens=max_tokens)
    return drawn, replace(drawn, temperature=improvement_temperature)


def decoded(prompt: Prompt, sample: Sample) -> str:
    """What the model wrote, in the environment's words."""
    return prompt.opening + prompt.codec.decode(sample.text)


def whole(sample: Sample) -> bool:
    """An answer that was cut is no answer."""
    return sample.finish == "stop"
