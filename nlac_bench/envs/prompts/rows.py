"""Checks the rows of a file of prompts: each becomes a task, or an error that names its row and column."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.prompts.table import read_table
from nlac_bench.errors import DataError, NlacBenchError
from nlac_bench.types import Message
from nlac_bench.untrusted import parse_json

GSM8K = ("openai/gsm8k",)
MATH = ("lighteval/MATH", "DigitalLearningGmbH/MATH-lighteval", "HuggingFaceH4/MATH-500", "math_dapo", "math",
        "math_dapo_reasoning", "numina_aops_forum", "numina_synthetic_math", "numina_amc_aime",
        "numina_synthetic_amc", "numina_cn_k12", "numina_olympiads")  # fmt: skip
CODE = ("codecontests", "apps", "codeforces", "taco")
"""Values of ``data_source`` by which verl chooses a reward (``default_compute_score`` of verl 0.9.1)."""

SCORERS: Mapping[str, str] = {
    "rule-openai/gsm8k": "gsm8k",
    "rule-lighteval/MATH": "math",
    "rule-lighteval/MATH_v2": "math",
    "verifier_service": "verifier",
    "agent_env": "episode",
    "code-sandbox": "code",
}
"""Styles of rewards, and what scores them; the styles ``rule`` and ``model`` depend on ``data_source``."""
COLUMNS = ("prompt", "reward_model")
CHOICES = frozenset({"split", "level", "tasks", "reward", "rules", "worlds", "family", "unknowns"})
"""Arguments of environments that choose tasks and rules; a row may give them any value."""
VALUES: Mapping[str, tuple[str, ...]] = {
    "data": ("embedded", "official"),
    "user": ("scripted", "none"),
    "oracle": ("knowledge",),
    "render_mode": ("ansi",),
}
"""The values that a row may give to other arguments; further arguments may be numbers."""
ROLES = ("system", "user", "assistant")
PLAIN_POLICY = r"Answer the question. End your reply with the final answer in \boxed{}."


@dataclass(frozen=True)
class PromptRow:
    """A task: what the agent reads, and how its reply is rewarded.

    Args:
        number: of the row in its file, from 1.
        split: the split that the row names; None if it names none.
        policy: the system messages.
        examples: the messages between them and the last one.
        question: the last message, of the user.
        scorer: one of the values of ``SCORERS``, or ``answer`` for plain rows of question and answer.
        gold: the ground truth.
        source: the column ``data_source``.
        extra: the column ``extra_info``.
        columns: the row as the file has it.
    """

    number: int
    split: str | None
    policy: str
    examples: tuple[Message, ...]
    question: str
    scorer: str
    gold: Any
    source: str
    extra: Mapping[str, Any]
    columns: Mapping[str, Any]


class _ColumnError(Exception):
    def __init__(self, column: str, problem: str) -> None:
        super().__init__(f"column {column}: {problem}")


def read_rows(path: Path, data: bytes) -> list[PromptRow]:
    """Return the tasks of a file.

    Raises:
        DataError: the file cannot be read, has no rows, or a row is wrong; the message names it by number and
            column.
        MissingError: as ``read_table``.
    """
    rows = []
    for number, row in read_table(path, data):
        try:
            rows.append(
                _plain(number, row) if "question" in row and "prompt" not in row else _full(number, row)
            )
        except _ColumnError as error:
            raise DataError(f"{path}, row {number}, {error}") from None
    if not rows:
        raise DataError(f"{path} has no rows")
    return rows


def _plain(number: int, row: Mapping[str, Any]) -> PromptRow:
    """Read a row of ``question`` and ``answer``; an answer after ``####`` is the gold answer, as in GSM8K."""
    question = _text(row, "question")
    answer = row.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or not str(answer).strip():
        raise _ColumnError("answer", f"must be a text or a number, got {answer!r:.80}")
    gold = str(answer).rpartition("####")[2].strip()
    extra = {name: value for name, value in row.items() if name not in ("question", "answer")}
    split = _split(row.get("split"))
    return PromptRow(number, split, PLAIN_POLICY, (), question, "answer", gold, "", extra, row)


def _full(number: int, row: Mapping[str, Any]) -> PromptRow:
    for name in COLUMNS:
        if name not in row:
            names = ", ".join(row) or "none"
            raise _ColumnError(
                name, f"is missing (expected prompt and reward_model, or question and answer; found {names})"
            )
    policy, examples, question = _chat(row["prompt"])
    extra = row.get("extra_info", {})
    if not isinstance(extra, dict):
        raise _ColumnError("extra_info", f"must be an object, got {extra!r:.80}")
    source = row.get("data_source", "")
    if not isinstance(source, str):
        raise _ColumnError("data_source", f"must be text, got {source!r:.80}")
    scorer, gold = _reward(row["reward_model"], source)
    split = _split(extra.get("split", row.get("split")))
    return PromptRow(number, split, policy, examples, question, scorer, gold, source, extra, row)


def _split(value: Any) -> str | None:
    """Return the split that a row names; an empty cell of CSV names none."""
    return value if isinstance(value, str) and value.strip() else None


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise _ColumnError(name, f"must be text, got {value!r:.80}")
    return value


def _chat(prompt: Any) -> tuple[str, tuple[Message, ...], str]:
    """Split a prompt, a text or a list of messages, into system message, examples and the last message."""
    if isinstance(prompt, str) and prompt.strip():
        return "", (), prompt
    if not isinstance(prompt, list) or not prompt:
        raise _ColumnError("prompt", f"must be a text or a list of messages, got {prompt!r:.80}")
    for i, message in enumerate(prompt):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise _ColumnError(f"prompt[{i}].role", f"must be one of {', '.join(ROLES)}, in {message!r:.80}")
        if not isinstance(message.get("content"), str):
            raise _ColumnError(f"prompt[{i}].content", f"must be text, got {message.get('content')!r:.80}")
    systems = [message["content"] for message in prompt if message["role"] == "system"]
    chat = [message for message in prompt if message["role"] != "system"]
    roles = [message["role"] for message in chat]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        raise _ColumnError(
            "prompt", f"messages of user and assistant must alternate and end with user, got {roles!r:.80}"
        )
    *examples, last = ({"role": each["role"], "content": each["content"]} for each in chat)
    return "\n\n".join(systems), tuple(examples), last["content"]


def _reward(reward: Any, source: str) -> tuple[str, Any]:
    """Return what scores replies, and the ground truth."""
    if not isinstance(reward, dict):
        raise _ColumnError(
            "reward_model", f"must be an object with style and ground_truth, got {reward!r:.80}"
        )
    style, gold = reward.get("style"), reward.get("ground_truth")
    scorer = SCORERS.get(style) if isinstance(style, str) else None
    if style in ("rule", "model"):
        scorer = _by_source(source)
        if scorer is None:
            raise _ColumnError(
                "data_source",
                f"{source!r:.80} has no rule here; known are {', '.join(GSM8K + MATH + CODE)}, and aime…",
            )
    if scorer is None:
        known = ", ".join((*SCORERS, "rule", "model"))
        raise _ColumnError("reward_model.style", f"must be one of {known}, got {style!r:.80}")
    return scorer, _gold(scorer, gold)


def _by_source(source: str) -> str | None:
    if source in GSM8K:
        return "gsm8k"
    if source in MATH or source.startswith("aime"):
        return "math"
    return "code" if source in CODE else None


def _gold(scorer: str, gold: Any) -> Any:
    """Check the ground truth, and return it in the form that the scorer reads."""
    column = "reward_model.ground_truth"
    if scorer == "verifier":
        return gold
    if scorer == "code":
        return _cases(gold, column)
    if isinstance(gold, bool) or not isinstance(gold, str | int | float) or not str(gold).strip():
        raise _ColumnError(column, f"must be a text or a number, got {gold!r:.80}")
    if scorer == "episode":
        refused = _refused_env(str(gold))
        if refused:
            raise _ColumnError(column, refused)
    return str(gold)


def _cases(gold: Any, column: str) -> dict[str, Any]:
    if isinstance(gold, str):
        try:
            gold = parse_json(gold.encode("utf-8", "surrogatepass"), finite=True)
        except ValueError as error:
            raise _ColumnError(column, f"is not JSON ({error})") from None
    inputs, outputs = (gold.get(key) if isinstance(gold, dict) else None for key in ("inputs", "outputs"))
    if not isinstance(inputs, list) or not isinstance(outputs, list) or not 0 < len(inputs) == len(outputs):
        raise _ColumnError(column, f"must have lists inputs and outputs of the same length, got {gold!r:.80}")
    return dict(gold)


def _refused_env(text: str) -> str:
    """Return why an environment string of a file is not made; empty if it is.

    A file may come from anybody: it imports no modules, names no files and no servers, and asks no person.
    A number does none of that; other values are read only of arguments that choose tasks and rules.
    """
    try:
        name, arguments = parse(text)
        entry = registry.canonical_name(name)
    except (ValueError, NlacBenchError) as error:
        return str(error)
    if not registry.is_known(name) or entry in registry.BUILTIN_WITH_ARGUMENTS:
        return f"{name!r:.80} is not a built-in environment, and not one that an installed package registers"
    for each, value in arguments.items():
        if value is None or each in CHOICES or value in VALUES.get(each, ()):
            continue
        if each in VALUES or not isinstance(value, int | float):
            return (
                f"the argument {each} of {name} must be {' or '.join(VALUES.get(each, ('a number',)))} in a "
                f"data file, which names no files, servers or people; got {value!r:.80}"
            )
    return ""
