"""Estimates the peak memory of a run in the processes of this machine, by what takes it."""

import importlib.util
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from nlac_bench.harness.measure.engines import engine_kind, local_model, policy_replicas
from nlac_bench.harness.measure.sampled_episodes import MeanEpisode, answer_tokens
from nlac_bench.harness.measure.training_estimate import ROLE_TOKENS
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.memory import KEPT, Shape, learner_bytes
from nlac_bench.rollout.engines.hf.precision import fast_bf16

PROCESS_BYTES = 450e6
"""Memory of a process without weights: Python, PyTorch, transformers and the environment."""
KERNEL_BYTES, MOST_KERNELS = 12e6, 50
"""On CPUs that train in bf16, oneDNN compiles matrix products for each number of tokens of a pass. Those of
one number take 12 MB (measured with 135 million parameters). It keeps 1,024 products, about 20 for each."""

HEAP_SHARE, HEAP_BYTES = 0.8, 0.3e9
"""Free blocks of the heap in a gradient step on CPUs, per byte of activations, and at most: freed temporary
tensors lie between activations. Measured in a pass of 930 tokens with 143 MB of activations: it took 512 MB,
and 392 MB with pages of its own for each tensor, which would need a quarter more CPU time. The
share does not hold for large passes: a run of PPO, with 1.2 GB of activations, had a lower peak than is
estimated without free blocks."""


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes in all processes of a run. Loading, gradient steps and the sampling of answers take turns."""

    python: int
    """Python and its libraries."""
    kernels: int
    """Compiled matrix products of a training."""
    loading: int
    """The files of the engines' model, which are in memory while the weights are copied."""
    engines: int
    """Weights of the engines."""
    conversations: int
    """The engines' cache of conversations, while answers are sampled: in training and in evaluations."""
    learner: int
    """Weights, moments and copies that the learner always keeps."""
    gradient_step: int
    """What the learner needs in addition in a gradient step."""
    heap: int
    """Free blocks of the heap in a gradient step."""

    @property
    def peak(self) -> int:
        """The largest one of the three."""
        trained = self.kernels + self.learner
        return (
            self.python
            + self.engines
            + max(self.loading, trained + self.gradient_step + self.heap, trained + self.conversations)
        )

    def to_json(self) -> dict[str, int]:
        """As a plain dict."""
        return asdict(self)

    def to_text(self) -> str:
        """The peak and its parts."""
        parts = [
            ("Python", self.python), ("engines", self.engines), ("learner", self.learner),
            ("compiled kernels", self.kernels), ("a gradient step", self.gradient_step + self.heap),
            ("conversations", self.conversations), ("loading", self.loading),
        ]  # fmt: skip
        listed = ", ".join(f"{size / 1e9:.2g} {name}" for name, size in parts if size)
        either = "loading, gradient steps and sampling" if self.learner else "loading and sampling"
        return f"memory here: about {self.peak / 1e9:.2g} GB (in GB: {listed}; {either} alternate)"


def memory_estimate(
    config: RunConfig,
    size: float | None,
    episode: MeanEpisode,
    episodes: int,
    trained_tokens: float = 0.0,
    step_tokens: float = math.inf,
) -> MemoryEstimate | None:
    """Return the estimate for ``config``; None if the size of the model is unknown.

    Args:
        size: number of parameters of the model.
        episode: of the policy.
        episodes: number of episodes that are evaluated.
        trained_tokens: number of tokens that the learner computes.
        step_tokens: of those, that it computes in a gradient step.
    """
    if size is None:
        return None
    model, train = local_model(str(config.model)), config.train
    shape, (bf16, device) = Shape.read(model, size), this_machine()
    slots, method = 1, None
    if train is not None:
        method = named_agents.method(config.agent)
        bf16 = bf16 if train.precision == "auto" else train.precision == "bf16"
        slots = len(method.slots(train))
    width = (2 if bf16 else 4) if train is not None else stored_width(model, size, bf16)
    replicas = policy_replicas(config)
    kept = learning = heap = kernels = loading = conversations = 0.0
    if train is not None and method is not None:
        options = method.learner_options(train)
        parts = learner_bytes(
            shape, train, options, ranks=1, bf16=bf16, device=device, step_tokens=step_tokens
        )
        kept = sum(parts[name] for name in KEPT)
        learning = sum(parts.values()) - kept
        heap = min(HEAP_SHARE * parts.get("activations", 0), HEAP_BYTES) * (device == "cpu")
        if bf16 and device == "cpu":
            # long sequences fill hardly more than half of a row
            passes = trained_tokens / (train.row_tokens / 2 * train.micro_rows)
            kernels = KERNEL_BYTES * min(MOST_KERNELS, passes)
    if engine_kind(str(config.model), config.base_url, config.engine) == "hf" and config.servers is None:
        tokens = min(2 * config.concurrency, episodes) * (episode.context + episode.answer)
        if train is not None and train.cost(episode.turns).answers.keys() - {"policy"}:
            answer = min(answer_tokens(config), train.max_response_length)
            read = episode.context + ROLE_TOKENS + answer
            rows = min(2, samples_at_once(train)) * config.concurrency  # the engine keeps two for each
            tokens = max(tokens, rows * read * slots)
        conversations = tokens * 2 * shape.keys * shape.layers * (4 if device == "cpu" else 2)
        loading = replicas * stored_bytes(model)
    return MemoryEstimate(
        python=int(PROCESS_BYTES * (1 + replicas * (replicas > 1))),
        kernels=int(kernels),
        loading=int(loading),
        engines=int(replicas * slots * size * width) if config.servers is None else 0,  # on the servers
        conversations=int(conversations),
        learner=int(kept),
        gradient_step=int(learning),
        heap=int(heap),
    )


def samples_at_once(train: TrainConfig) -> int:
    """Return how many answers about one transition are sampled at the same time: futures or candidates."""
    return max(int(getattr(train, name, 1)) for name in ("num_nlq_samples", "num_candidates"))


def this_machine() -> tuple[bool, str]:
    """Return whether models are computed in bf16 here by default, and on which device."""
    if importlib.util.find_spec("torch") is None:
        return False, "cpu"
    import torch

    return fast_bf16(), "cuda" if torch.cuda.is_available() else "cpu"


def stored_width(model: str, size: float, bf16: bool) -> int:
    """Return the bytes of a weight in an engine that is not trained: as stored, or 4 without fast bf16."""
    return 4 if not bf16 or stored_bytes(model) > 3 * size else 2


def stored_bytes(model: str) -> int:
    """Return the size of the files with the weights in the folder ``model``; 0 if it is not a folder."""
    return sum(file.stat().st_size for file in Path(model).glob("*.safetensors"))
