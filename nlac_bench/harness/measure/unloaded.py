"""Stands in for the policy's engine in a dry run: the model is not loaded, only its tokenizer."""

from collections.abc import Sequence
from pathlib import Path

from nlac_bench.harness.measure.engines import engine_kind, local_model
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Slot
from nlac_bench.rollout.engines.tokenizer import Tokenizer

CHARS_PER_TOKEN = 4.0
"""Common vocabularies give 3.5 to 4.5 for English text and JSON."""


class UnloadedEngine:
    """An engine that keeps the requests and answers nothing.

    Args:
        config: of the run. The tokenizer is that of the model's folder; None for other models.

    Raises:
        NlacBenchError: the folder's tokenizer cannot be loaded, or it has no chat template.
    """

    def __init__(self, config: RunConfig) -> None:
        model = local_model(str(config.model))
        kind = engine_kind(str(config.model), config.base_url, config.engine)
        self.name = {"hf": "HFEngine", "vllm": "VLLMEngine", "openai": "OpenAIEngine"}[kind]
        """The name under which runs record the engine."""
        self.tokenizer: Tokenizer | None = None
        self.asked: list[SampleRequest] = []
        if kind != "openai" and Path(model).is_dir():
            from nlac_bench.rollout.engines.hf.loading import load_tokenizer

            self.tokenizer = load_tokenizer(model)
            self._format = ChatFormat(self.tokenizer)

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``."""
        self.asked.append(request)
        return [Sample("", "stop")]

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        return []

    def tokens(self, request: SampleRequest) -> float:
        """Return the number of tokens of a prompt, estimated by its characters without a tokenizer."""
        if self.tokenizer is not None:
            return float(len(self._format.prompt_ids(request)))
        return sum(len(str(message.get("content"))) for message in request.messages or ()) / CHARS_PER_TOKEN
