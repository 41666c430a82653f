"""Generates the corpus from the training splits and packs it into rows of tokens for pre-training."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlac_bench.errors import DataError
from nlac_bench.files import replace_file
from nlac_bench.tiny import tokenizer
from workshop import corpus, games_corpus, worlds_corpus
from workshop.drills import drills
from workshop.trees import TokenRow, Tree, pack, trees

CONTEXT_KIND = len(corpus.ROLES) + 1
KINDS = ("none", *corpus.ROLES, "context")
EPISODES: Mapping[str, Mapping[str, int]] = {
    "tiny": {
        "tau_retail": 8_000, "tau_airline": 5_000, "twenty_questions": 12_000, "math500_hard": 40_000,
    },
    "tiny-worlds": {"shop_worlds": 2_500, "twenty_questions": 2_500},
}  # fmt: skip
"""Number of episodes of each environment at scale 1, by model."""
DRILLS: Mapping[str, Mapping[str, int]] = {
    "tiny": {"arithmetic": 25_000},
    "tiny-worlds": {"objects": 30_000},
}
"""Number of exercises of each kind at scale 1, by model."""
ANSWER_ONLY = frozenset({"objects"})
"""Exercises whose prompts are not learned: their questions are drawn at random, unlike those of a player."""
_EXERCISES: Mapping[str, Callable[[int, int, int], Iterator[list[corpus.CorpusRow]]]] = {
    "arithmetic": drills,
    "objects": games_corpus.exercises,
}


def prepare(
    out: Path, *, scale: float, length: int, seed: int, say: Callable[[str], None], model: str = "tiny"
) -> dict[str, NDArray[np.int32]]:
    """Generate the packed corpus and the tokenizer in ``out``, or read them if they exist.

    Args:
        scale: multiplies the number of episodes of each environment.
        length: number of tokens of a packed row.
        seed: random seed of the corpus.
        say: called with each message.
        model: name of the embedded model, which determines the corpus.

    Returns:
        int32 arrays ``[rows, length]`` by field; see ``trees.pack``.

    Raises:
        DataError: the stored corpus is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file, save_file

    from nlac_bench.rollout.engines.hf.loading import load_tokenizer

    stored = out / "corpus.data"
    if stored.exists():
        try:
            return load_file(stored)
        except (SafetensorError, OSError, ValueError) as error:
            raise DataError(f"{stored} is damaged ({error}); delete it to generate it again") from error
    texts: dict[str, list[list[corpus.CorpusRow]]] = {}
    for name, count in {**EPISODES[model], **DRILLS[model]}.items():
        began = time.monotonic()
        texts[name] = _episodes(model, name, max(1, round(count * scale)), seed)
        say(f"{name}: generated in {time.monotonic() - began:.0f} s")
    if (out / "tokenizer.json").exists():  # when the training of a model is continued, its tokenizer is kept
        tok: Any = load_tokenizer(out)
    else:
        every = [rows for of_name in texts.values() for rows in of_name]
        some = every[:: max(1, len(every) // 2_000)]
        spoken = (part for rows in some for part in (rows[0].prompt, *(row.answer for row in rows)))
        tok = tokenizer.train(spoken, [f"<|{name}|>" for name in EPISODES[model]])
        tokenizer.save(tok, out)
    found_trees: list[Tree] = []
    digest = hashlib.sha256()
    for name, of_name in texts.items():
        for rows in of_name:
            for row in rows:
                digest.update(f"{row.role}\0{row.prompt}\0{row.answer}\0".encode())
            found_trees += trees(tokens(tok, rows), length, CONTEXT_KIND, name not in ANSWER_ONLY)
    np.random.default_rng(seed).shuffle(found_trees)
    packed = pack(found_trees, length, int(tok.pad_token_id))
    counts = {name: len(of_name) for name, of_name in texts.items()}
    count = sum(len(rows) for of_name in texts.values() for rows in of_name)
    facts = {"sha256": digest.hexdigest(), "episodes": counts, "rows": count}
    (out / "corpus.json").write_text(json.dumps(facts))
    unfinished = out / "corpus.part"
    save_file(packed, unfinished)
    replace_file(unfinished, stored)
    say(f"corpus: {sum(counts.values()):,} episodes, {count:,} rows, {packed['ids'].size:,} tokens")
    return packed


def _episodes(model: str, name: str, count: int, seed: int) -> list[list[corpus.CorpusRow]]:
    """Return ``generated``, computed by one process per core."""
    starts = range(0, count, 100)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        jobs = ((model, name, start, min(start + 100, count), seed) for start in starts)
        parts = pool.map(_some_episodes, jobs)
        return [rows for part in parts for rows in part]


def _some_episodes(job: tuple[str, str, int, int, int]) -> list[list[corpus.CorpusRow]]:
    model, name, start, stop, seed = job
    return list(generated(model, name, stop, seed, start))


def generated(
    model: str, name: str, count: int, seed: int, first: int = 0
) -> Iterator[list[corpus.CorpusRow]]:
    """Yield the rows of episodes ``first`` to ``count`` (exclusive) of the environment ``name``, or of an
    exercise of that name, that ``model`` is taught."""
    if name in _EXERCISES:
        return _EXERCISES[name](count, seed, first)
    if model == "tiny":
        return corpus.episodes(name, count, seed, first)
    taught = {module.NAME: module.episodes for module in (worlds_corpus, games_corpus)}
    return taught[name](count, seed, first)


def tokens(tok: Any, rows: list[corpus.CorpusRow]) -> list[TokenRow]:
    prompts = tok([row.prompt for row in rows], add_special_tokens=False)["input_ids"]
    answers = tok([row.answer for row in rows], add_special_tokens=False)["input_ids"]
    return [
        TokenRow([*prompt, *answer, tok.eos_token_id], len(prompt), 1 + corpus.ROLES.index(row.role))
        for prompt, answer, row in zip(prompts, answers, rows, strict=True)
    ]
