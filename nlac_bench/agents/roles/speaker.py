"""Samples a model's answers in its roles, parses them, and counts answers that cannot be parsed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nlac_bench.agents.roles.answers import RoleAnswers
from nlac_bench.agents.roles.role_prompts import (
    ComparingPrompts,
    Critique,
    ExplainingPrompts,
    Prompt,
    RolePrompts,
)
from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.rollout.engines.engine import Engine, Sample, SampleRequest, Sampling, Slot, derive_seed
from nlac_bench.types import Role


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the policy or the refiner, with the environment's identifiers.

    ``sample`` has the sampled tokens, which training uses instead of tokenising ``text``.
    """

    text: str
    sample: Sample


@dataclass(frozen=True, slots=True)
class Future:
    """A predicted future, and P("success"), which is None if the outcome was not a choice in a form."""

    text: str
    success: float | None = None


class Speaker:
    """Samples answers in all roles for one transition, with its own random numbers.

    The weights are those of θ, or with slot ``target`` those of the moving average θ̄, in DRLC of
    the initial model.

    Args:
        sampling: sampling parameters of policy, successor, backup and aggregator.
        improvement: sampling parameters of evaluator, refiner and picker.
        counts: counts the answers, and keeps some; all speakers share it.
    """

    def __init__(
        self,
        engine: Engine,
        prompts: RolePrompts,
        sampling: Sampling,
        improvement: Sampling,
        seed: int,
        counts: RoleAnswers,
    ) -> None:
        self._engine, self._prompts = engine, prompts
        self._sampling: dict[object, Sampling] = dict.fromkeys(
            ("evaluator", "refiner", "picker"), improvement
        )
        self._default = sampling
        self._seed, self._calls, self._counts = seed, 0, counts

    async def act(self, state: State, slot: Slot = "policy") -> Action | None:
        """Sample a ~ π(· | s); None if the answer cannot be parsed."""
        prompt, sample = self._prompts.policy(state), await self.sampled(state, slot)
        text = self._prompts.parse_action(decoded(prompt, sample)) if whole(sample) else None
        return self._action(text, sample, "policy", prompt)

    async def sampled(self, state: State, slot: Slot = "policy") -> Sample:
        """Sample an answer of π(· | s), whether or not it can be parsed."""
        (sample,) = await self._ask(self._prompts.policy(state), "policy", slot=slot, ids=state.prompt_ids)
        return sample

    async def futures(self, state: State, action: str, n: int = 1, slot: Slot = "policy") -> list[Future]:
        """Sample d⁽¹⁾…d⁽ⁿ⁾ ~ M(· | s, a).

        Answers that cannot be parsed are left out.
        """
        return [
            Future(future, _probability(self._prompts.outcome(future) == "success", sample))
            for sample, future in await self.predictions(state, action, n, slot)
            if future is not None
        ]

    async def predictions(
        self, state: State, action: str, n: int, slot: Slot = "policy"
    ) -> list[tuple[Sample, str | None]]:
        """Sample n futures to learn from; return their tokens and texts, None if they cannot be parsed."""
        prompt = self._prompts.successor(state, action)
        samples = await self._ask(prompt, "successor", n, slot)
        written = [self._prompts.parse_future(decoded(prompt, s)) if whole(s) else None for s in samples]
        for sample, future in zip(samples, written, strict=True):
            self._readable("successor", future, sample, prompt)
        return list(zip(samples, written, strict=True))

    async def backup(
        self, transition: Transition, next_action: str, next_future: str, slot: Slot = "policy"
    ) -> str | None:
        """Sample d ~ B(s, a, r, s′, d′); None if the answer cannot be parsed.

        An episode has one outcome, whichever step it is predicted from, so d′ is returned if d states another
        one. A model that changes the outcome in one direction only would learn that outcome everywhere, since
        L1 trains the weights that write the next targets; and d with the outcome of d′ would contradict
        itself.
        """
        prompts = self._prompts
        prompt = prompts.backup(transition, next_action, next_future)
        (sample,) = await self._ask(prompt, "backup", slot=slot)
        target = prompts.parse_future(decoded(prompt, sample)) if whole(sample) else None
        if not self._readable("backup", target, sample, prompt) or target is None:
            return None
        outcome = prompts.outcome(next_future)
        if outcome is None or prompts.outcome(target) == outcome:
            return target
        self._counts["backup/changed"] += 1
        return next_future

    async def explain(
        self, prompts: ExplainingPrompts, transition: Transition, ending: str, slot: Slot = "policy"
    ) -> str:
        """Return the terminal target ``ending`` with sampled reasons; ``ending`` alone if no reasons fit it.

        The outcome must not depend on the answer: a model that expects failure gives reasons for it after
        successes too, and if these transitions were left out, it would hardly see a success again.
        """
        written = await self.reasons(prompts, transition, ending, slot)
        return prompts.parse_ending(written, ending) or ending

    async def reasons(
        self, prompts: ExplainingPrompts, transition: Transition, ending: str, slot: Slot = "policy"
    ) -> str:
        """Sample the answer whose reasons ``prompts.parse_ending`` reads; empty if none fit ``ending``."""
        prompt = prompts.ending(transition, ending)
        (sample,) = await self._ask(prompt, "backup", slot=slot)
        written = decoded(prompt, sample) if whole(sample) else ""
        fits = self._readable("backup", prompts.parse_ending(written, ending), sample, prompt)
        return written if fits else ""

    async def critique(
        self, state: State, action: str, futures: Sequence[str], slot: Slot = "policy"
    ) -> Critique | None:
        """Sample a critique from E(s, a, d⁽¹⁾…d⁽ᵏ⁾); None if the answer cannot be parsed."""
        prompt = self._prompts.evaluator(state, action, futures)
        (sample,) = await self._ask(prompt, "evaluator", slot=slot)
        critique = self._prompts.parse_critique(decoded(prompt, sample)) if whole(sample) else None
        if not self._readable("evaluator", critique, sample, prompt) or critique is None:
            return None
        return replace(critique, probability=_probability(critique.optimal, sample))

    async def critiques(
        self, state: State, action: str, futures: Sequence[str], n: int
    ) -> list[tuple[Sample, Critique | None]]:
        """Sample n critiques to learn from, with the sampling parameters of the policy.

        Returns:
            Their tokens, and the critiques; None for those that cannot be parsed.
        """
        prompt = self._prompts.evaluator(state, action, futures)
        samples = await self._ask(prompt, "evaluator", n, sampling=self._default)
        read = [self._prompts.parse_critique(decoded(prompt, s)) if whole(s) else None for s in samples]
        for sample, critique in zip(samples, read, strict=True):
            self._readable("evaluator", critique, sample, prompt)
        return list(zip(samples, read, strict=True))

    async def refine(self, state: State, action: str, critique: Critique) -> Action | None:
        """Sample a^r ~ π_r(· | s, a, critique); None if the answer cannot be parsed."""
        prompt = self._prompts.refiner(state, action, critique)
        (sample,) = await self._ask(prompt, "refiner")
        text = self._prompts.parse_refined(decoded(prompt, sample)) if whole(sample) else None
        return self._action(text, sample, "refiner", prompt)

    def _action(self, text: str | None, sample: Sample, role: Role, prompt: Prompt) -> Action | None:
        readable = self._readable(role, text, sample, prompt)
        return Action(text, sample) if readable and text is not None else None

    async def _ask(
        self,
        prompt: Prompt,
        role: Role,
        n: int = 1,
        slot: Slot = "policy",
        ids: Sequence[int] | None = None,
        sampling: Sampling | None = None,
    ) -> list[Sample]:
        self._calls += 1
        request = SampleRequest(
            messages=None if ids else prompt.messages,
            prompt_ids=list(ids) if ids else None,
            role=role,
            slot=slot,
            sampling=sampling or self._sampling.get(role, self._default),
            seed=derive_seed(self._seed, role, self._calls),
            n=n,
            form=prompt.form,
        )
        return await self._engine.sample(request)

    def _readable(self, role: Role, answer: object, sample: Sample, prompt: Prompt) -> bool:
        """Count the answer; return whether it could be parsed, that is whether ``answer`` is not None."""
        self._counts.note(role, answer is not None, sample.finish, decoded(prompt, sample))
        return answer is not None


class ComparingSpeaker(Speaker):
    """A speaker with the two roles of ``ComparingPrompts``."""

    _prompts: ComparingPrompts

    async def aggregate(self, state: State, action: str, futures: Sequence[str]) -> str | None:
        """Sample the language value of (s, a) from its futures; None if the answer cannot be parsed."""
        prompt = self._prompts.aggregator(state, action, futures)
        (sample,) = await self._ask(prompt, "aggregator")
        value = self._prompts.parse_future(decoded(prompt, sample)) if whole(sample) else None
        return value if self._readable("aggregator", value, sample, prompt) else None

    async def pick(self, state: State, candidates: Sequence[tuple[str, str]]) -> int | None:
        """Sample a choice among (action, value) pairs; return its index, or None if it cannot be parsed."""
        prompt = self._prompts.picker(state, candidates)
        (sample,) = await self._ask(prompt, "picker")
        text = decoded(prompt, sample) if whole(sample) else ""
        index = self._prompts.parse_pick(text, len(candidates))
        return index if self._readable("picker", index, sample, prompt) else None


def _probability(affirmed: bool, sample: Sample) -> float | None:
    """Return the probability of "yes" or "success" in the last choice of an answer; None without a choice.

    Args:
        affirmed: whether that option was chosen, of two.
    """
    if sample.filled is None or not sample.filled.chosen:
        return None
    chosen = math.exp(sample.filled.chosen[-1][1])
    return chosen if affirmed else 1 - chosen


def samplings(
    temperature: float, improvement_temperature: float, max_tokens: int
) -> tuple[Sampling, Sampling]:
    """Return a speaker's two sampling parameters: ``sampling`` and ``improvement``."""
    drawn = Sampling(temperature=temperature, max_tokens=max_tokens)
    return drawn, replace(drawn, temperature=improvement_temperature)


def decoded(prompt: Prompt, sample: Sample) -> str:
    """Return the model's answer with the environment's identifiers."""
    return prompt.opening + prompt.codec.decode(sample.text)


def whole(sample: Sample) -> bool:
    """Return whether the answer is complete; truncated answers are not parsed."""
    return sample.finish == "stop"
