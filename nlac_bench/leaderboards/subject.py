"""Who was measured, in a leaderboard's entry: an agent, its model and prompts, and how it was trained."""

from typing import Any

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from nlac_bench.harness.runs.folder import label_of
from nlac_bench.leaderboards.entry_part import Amount, Count, EntryPart, Name, Rate, Sha256, without


class Tokens(EntryPart):
    """Calls and tokens of one role; ``cost`` is in US dollars (0 if the price is unknown)."""

    calls: Count
    prompt_tokens: Count
    completion_tokens: Count
    cost: Amount
    seconds: Amount


class TrainingCost(EntryPart):
    """The cost of the training of one seed, up to its end (``chosen_step`` is the tested checkpoint's)."""

    seed: int
    gradient_steps: Count
    environment_steps: Count
    generated_tokens: Count
    seconds: Amount
    tokens_by_role: dict[Name, Tokens] = Field(max_length=200)
    chosen_step: Count | None
    base_success: Rate | None
    """Success of the untrained model on the same tasks and seeds."""
    weights_sha256: Sha256 | None = None
    """The hash of the tested weights, as in ``Weights``; None in entries of earlier versions."""

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without(handler(self), "weights_sha256")


class Training(EntryPart):
    """How a subject was trained: one ``TrainingCost`` per seed."""

    method: Name
    budget: Name | None
    settings: dict[Name, JsonValue] = Field(default_factory=dict, max_length=500)
    offline: bool = False
    runs: list[TrainingCost] = Field(min_length=1, max_length=1_000)


class MadeBy(EntryPart):
    """The training run of which a model is a checkpoint. The run's own entry has the same hash."""

    agent: Name
    env: Name
    model: Name
    seed: int | None
    manifest_sha256: Sha256


class Weights(EntryPart):
    """The weights in a model's folder, whose name does not identify them."""

    sha256: Sha256
    run: MadeBy | None


class Subject(EntryPart):
    """Who was measured: an agent, its model and prompts, and how it was trained."""

    agent: Name
    model: Name | None = None
    revision: Name | None = None
    engine: Name | None = None
    prompts: dict[Name, Name] = Field(default_factory=dict, max_length=500)
    temperature: Amount | None = None
    max_tokens: Count | None = None
    worlds: list[int] | None = Field(None, max_length=1_000)
    training: Training | None = None
    weights: Weights | None = None
    refine: Count | None = None
    """How often each action was refined before it was played."""
    best_of: Count | None = None
    """The number of actions of which the best was played."""

    @property
    def label(self) -> str:
        """The agent with what played beside its policy, such as ``nlac + refine 2``."""
        return label_of(vars(self))

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without(handler(self), "weights", "refine", "best_of")
