"""Pre-trains the embedded model on packed rows of tokens and writes its weights to a folder."""

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nlac_bench import tiny
from nlac_bench.agents.roles.styles import EXPLAINS
from nlac_bench.envs.shop_worlds.worlds import OPEN
from nlac_bench.errors import DataError
from nlac_bench.files import replace_file
from nlac_bench.tiny import tokenizer
from nlac_bench.tiny.checkpoint import restore, save
from workshop import corpus, critic_rows, games_corpus, games_player, worlds_corpus, worlds_player
from workshop.fingerprint import fingerprint
from workshop.prepare import CONTEXT_KIND, KINDS, prepare
from workshop.trees import IGNORED

if TYPE_CHECKING:
    import torch

CONTEXT = 4_096
"""Number of positions; the corpus uses about a thousand, and rotary embeddings allow more."""
OF_A_PHASE = ("steps", "minutes", "lr", "warmup", "batch", "context_weight", "weight_decay", "compiled")
"""Settings that may change when the training of a finished model is continued."""


@dataclass(frozen=True)
class BuildConfig:
    """All settings on which the weights depend.

    Args:
        model: which embedded model; the training of ``tiny-worlds`` continues from the weights of ``tiny``.
        scale: multiplies the number of episodes of each environment.
        steps, minutes: length of training; exactly one of them is given. The learning rate decays to a
            twentieth over that length.
        context_weight: loss weight of the environment's text, which makes the model learn copying early.
        compiled: use ``torch.compile``, which takes half a minute and saves time in all but very short
            builds.
    """

    model: Literal["tiny", "tiny-worlds"] = "tiny"
    layers: int = 4
    width: int = 256
    heads: int = 4
    kv_heads: int = 2
    mlp: int = 768
    length: int = 768
    batch: int = 5
    lr: float = 2e-3
    weight_decay: float = 0.1
    warmup: int = 100
    context_weight: float = 0.2
    compiled: bool = True
    scale: float = 1.0
    seed: int = 0
    steps: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.minutes is None):
            raise ValueError(
                f"give either steps or minutes, got steps={self.steps!r}, minutes={self.minutes!r}"
            )


SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "tiny": {},
    "tiny-worlds": {"length": 1_024, "batch": 2, "lr": 1.2e-3},
}
"""Settings that differ from the defaults, by model: conversations of ``shop_worlds`` are longer."""
_TAUGHT: Mapping[str, Mapping[str, Any]] = {
    "tiny": {
        "criticised": corpus.CRITICISED,
        "split": "train",
        "level": {"math500_hard": 1, "others": "easy"},
        "overlooked": corpus.OVERLOOKED, "false_alarm": corpus.FALSE_ALARM,
        "misadvice": corpus.MISADVICE, "deaf": corpus.DEAF,
        "held_out": {"math500_hard": "test_new"},
    },
    "tiny-worlds": {
        "criticised": {"shop_worlds": worlds_corpus.CRITICISED, "twenty_questions": critic_rows.CRITICISED},
        "advised": worlds_corpus.ADVISED, "other_worlds": worlds_corpus.OTHER_WORLDS,
        "split": "train",
        "level": {"shop_worlds": "single requests of all levels", "twenty_questions": "full"},
        "worlds": [OPEN[0], OPEN[-1]],
        "most_futures": critic_rows.MOST_FUTURES, "rejected": critic_rows.REJECTED,
        "slip": worlds_player.SLIP,
        "habits": [asdict(habit) for habit in games_player.HABITS],
        "habit_shares": list(games_player.HABIT_SHARES), "near": list(games_player.NEAR),
        "repeated": games_player.REPEATED, "recalled": games_corpus.RECALLED,
        "started_from": "tiny",
    },
}  # fmt: skip
"""Description of the corpus in the manifest, by model."""

Report = Callable[[dict[str, Any]], None]


def build(config: BuildConfig, out: Path, report: Report, say: Callable[[str], None] = print) -> None:
    """Train the model, and write model, tokenizer and manifest to ``out``.

    An interrupted build continues from ``out/checkpoint.data``. If ``out`` contains a finished build, its
    training is continued as a further phase of its manifest; learning rate and batch size may differ.

    Args:
        report: called with the state of training after each step.
        say: called with each message.

    Raises:
        DataError: ``out`` contains a build of another model or corpus, or a file in it is damaged.
    """
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from nlac_bench.rollout.engines.hf.loading import load_model

    out.mkdir(parents=True, exist_ok=True)
    _same_config(config, out)
    if config.model == "tiny-worlds":
        _start_from_tiny(out)
    data = prepare(
        out, scale=config.scale, length=config.length, seed=config.seed, say=say, model=config.model
    )
    torch.manual_seed(config.seed)
    model: Any = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=tokenizer.VOCABULARY, hidden_size=config.width, intermediate_size=config.mlp,
            num_hidden_layers=config.layers, num_attention_heads=config.heads,
            num_key_value_heads=config.kv_heads, max_position_embeddings=CONTEXT, tie_word_embeddings=True,
            bos_token_id=None, eos_token_id=1, pad_token_id=0, use_cache=False,
        )
    )  # fmt: skip
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=config.weight_decay, fused=True
    )
    state = {"step": 0, "seconds": 0.0, "tokens": 0}
    finished = out / "model.safetensors"
    if finished.exists():
        model.load_state_dict(load_model(out, torch.float32).state_dict())
        say(f"continuing the training of {finished}")
    checkpoint = out / "checkpoint.data"
    if checkpoint.exists():
        state = restore(checkpoint, model, optimizer)
        say(f"continuing after step {state['step']:,}")
    autocast = device.type == "cuda" or _bf16_is_faster(model, data, config)
    size = sum(parameter.numel() for parameter in model.parameters())
    say(f"{size:,} parameters on {device}, {'bf16' if autocast else 'fp32'}")
    body = torch.compile(model.model, dynamic=False) if config.compiled else model.model
    phase = len(_earlier_phases(out))
    losses: dict[str, float] = {}
    while (done := _done(config, state)) < 1:
        began = time.monotonic()
        batch = _batch(data, config, int(state["step"]), device, phase)
        for group in optimizer.param_groups:
            group["lr"] = config.lr * min(1.0, (state["step"] + 1) / config.warmup) * _cosine(done)
        with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
            hidden = body(
                input_ids=batch["ids"], position_ids=batch["positions"],
                attention_mask=mask(batch, autocast),
            ).last_hidden_state  # fmt: skip
            logits = model.lm_head(hidden[batch["targets"] != IGNORED])
        loss, by_kind = _loss(logits, batch, config.context_weight)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        state["step"] += 1
        state["seconds"] += time.monotonic() - began
        state["tokens"] += batch["ids"].numel()
        for name, value in by_kind.items():
            losses[name] = value if name not in losses else 0.95 * losses[name] + 0.05 * value
        report({**state, "done": _done(config, state), "losses": losses})
        if state["step"] % 100 == 0:
            save(checkpoint, model, optimizer, state)
    model.config.use_cache = True
    model.to(torch.bfloat16).save_pretrained(out)
    _write_manifest(config, out, state, losses, autocast)
    checkpoint.unlink(missing_ok=True)


def _start_from_tiny(out: Path) -> None:
    """Copy the weights and the tokenizer of ``tiny`` to ``out``, unless it has weights; note that the model
    explains outcomes."""
    if not (out / "model.safetensors").exists():
        for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "config.json"):
            shutil.copyfile(tiny.path() / name, out / name)
        shutil.copyfile(tiny.path() / "model.safetensors", out / "model.part")
        replace_file(out / "model.part", out / "model.safetensors")
    path = out / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {EXPLAINS: True}, indent=2) + "\n")


def _done(config: BuildConfig, state: Mapping[str, float]) -> float:
    if config.steps is not None:
        return state["step"] / config.steps
    assert config.minutes is not None
    return state["seconds"] / (60 * config.minutes)


def _cosine(done: float) -> float:
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def _batch(
    data: Mapping[str, NDArray[np.int32]],
    config: BuildConfig,
    step: int,
    device: "torch.device",
    phase: int = 0,
) -> dict[str, "torch.Tensor"]:
    """Return batch ``step`` of an endless sequence of shuffled epochs; each phase has its own sequence."""
    import torch

    count = len(data["ids"])
    wanted = np.arange(step * config.batch, (step + 1) * config.batch)
    chosen = [
        int(np.random.default_rng((config.seed, phase, int(epoch))).permutation(count)[at])
        for epoch, at in zip(wanted // count, wanted % count, strict=True)
    ]
    return {
        name: torch.from_numpy(values[chosen].astype(np.int64)).to(device) for name, values in data.items()
    }


def mask(batch: Mapping[str, "torch.Tensor"], bf16: bool) -> "torch.Tensor":
    """Return the additive mask ``[B, 1, T, T]``: a token attends to its branch, and to its trunk before the
    branch."""
    import torch

    size = batch["ids"].shape[1]
    key = torch.arange(size, device=batch["ids"].device)[None, None, :]
    query = torch.arange(size, device=batch["ids"].device)[None, :, None]
    low, cut, own = (batch[name][:, :, None] for name in ("low", "cut", "own"))
    seen = ((key >= low) & (key < cut)) | ((key >= own) & (key <= query))
    dtype = torch.bfloat16 if bf16 else torch.float32
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -1e9)[:, None]


def _loss(
    logits: "torch.Tensor", batch: Mapping[str, "torch.Tensor"], context_weight: float
) -> tuple["torch.Tensor", dict[str, float]]:
    """Return the weighted mean loss over the learned tokens (those of ``logits``), and the mean loss by
    kind."""
    import torch

    learned = batch["targets"] != IGNORED
    each = torch.nn.functional.cross_entropy(logits.float(), batch["targets"][learned], reduction="none")
    kinds = batch["kinds"][learned]
    weights = torch.where(kinds == CONTEXT_KIND, context_weight, 1.0)
    by_kind = {
        KINDS[kind]: float(each[kinds == kind].mean().detach()) for kind in kinds.unique().tolist() if kind
    }
    return (each * weights).sum() / weights.sum(), by_kind


def _bf16_is_faster(model: Any, data: Mapping[str, NDArray[np.int32]], config: BuildConfig) -> bool:
    """Time steps in bf16 and fp32; CPUs differ by a factor of ten in either direction."""
    import torch

    batch = _batch(data, config, 0, torch.device("cpu"))
    seconds: dict[bool, float] = {}
    for enabled in (True, False, True, False):
        began = time.monotonic()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            out = model(
                input_ids=batch["ids"], position_ids=batch["positions"],
                attention_mask=mask(batch, enabled),
            )  # fmt: skip
        _loss(out.logits[batch["targets"] != IGNORED], batch, 1.0)[0].backward()
        seconds[enabled] = min(time.monotonic() - began, seconds.get(enabled, math.inf))
    model.zero_grad()
    return seconds[True] < seconds[False]


def _same_config(config: BuildConfig, out: Path) -> None:
    path = out / "build.json"
    now = {name: value for name, value in asdict(config).items() if name not in OF_A_PHASE}
    if path.exists() and (before := {"model": "tiny", **json.loads(path.read_text())}) != now:
        changed = ", ".join(f"{name} {before.get(name)!r} → {now[name]!r}" for name in now
                            if before.get(name) != now[name])  # fmt: skip
        raise DataError(
            f"{out} contains a build with other settings ({changed}); choose another --out, or "
            "remove the folder"
        )
    path.write_text(json.dumps(now, indent=1) + "\n")


def _earlier_phases(out: Path) -> list[dict[str, Any]]:
    path = out / "manifest.json"
    return list(json.loads(path.read_text())["phases"]) if path.exists() else []


def _write_manifest(
    config: BuildConfig, out: Path, state: Mapping[str, float], losses: Mapping[str, float], autocast: bool
) -> None:
    path = out / "manifest.json"
    earlier = _earlier_phases(out)
    phase = {
        "corpus": json.loads((out / "corpus.json").read_text()),
        "steps": state["step"], "tokens": state["tokens"], "seconds": round(state["seconds"]),
        "loss": {name: round(value, 4) for name, value in losses.items()},
        "settings": {name: value for name, value in asdict(config).items() if name in OF_A_PHASE},
        "bf16": autocast, "cpus": os.cpu_count(),
    }  # fmt: skip
    manifest = {
        "prompts": fingerprint(),
        "taught": _TAUGHT[config.model],
        "build": {name: value for name, value in asdict(config).items() if name not in OF_A_PHASE},
        "phases": [*earlier, phase],
    }  # fmt: skip
    path.write_text(json.dumps(manifest, indent=1) + "\n")
