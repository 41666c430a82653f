"""Every command that README, CONTRIBUTING and the documentation show is run, or listed in ``commands.py``."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import call, nlac_bench
from tests.docs.commands import ADDITIONS, EXCEPTIONS, SLOW, SUBSTITUTIONS
from tests.rollout.fault_server import FaultServer, completion

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "nlac_bench" / "tiny" / "README.md",
    *sorted(
        path for folder in ("docs", "leaderboards", "examples") for path in (ROOT / folder).rglob("*.md")
    ),
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(nlac-bench|make|python3?|pip|pytest|torchrun|pre-commit) \S")
ADVICE = (
    "Correct the page, or, if the command cannot be run as it stands there, add a rule to EXCEPTIONS, "
    "SUBSTITUTIONS or ADDITIONS in tests/docs/commands.py."
)


def commands_of(text: str) -> Iterator[str]:
    """Commands in fenced blocks, without their comments, and in inline code."""
    for language, block in FENCED.findall(text):
        if language in ("", "sh", "bash", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                yield re.sub(r"\s+#.*", "", line.strip().removeprefix("$ "))
    for inline in re.findall(r"`([^`]+)`", FENCED.sub("", text)):
        yield " ".join(inline.split())


SHOWN = {
    command: page.relative_to(ROOT)
    for page in reversed(PAGES)
    for command in commands_of(page.read_text(encoding="utf-8"))
    if COMMAND.match(command)
}
"""Each command with the first page that shows it."""


def is_exception(command: str) -> bool:
    return any(re.search(pattern, command) for pattern in EXCEPTIONS)


def substituted(command: str) -> str:
    """The command that is run for ``command``; ``{data}`` and ``{url}`` are filled in later."""
    for pattern, replacement in SUBSTITUTIONS.items():
        command = re.sub(pattern, replacement, command)
    for pattern, arguments in ADDITIONS.items():
        if re.search(pattern, command):
            command = f"{command} {arguments}"
    return command


def cases() -> Iterator[Any]:
    for command in filter(lambda command: not is_exception(command), SHOWN):
        run = substituted(command)
        marks = [pytest.mark.official] if "{data}" in run else []
        marks += [
            pytest.mark.slow(reason=reason) for pattern, reason in SLOW.items() if re.search(pattern, run)
        ]
        yield pytest.param(command, run, marks=marks, id=command)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which commands run: the files that they name, and three runs."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "configs").symlink_to(ROOT / "configs")
    (folder / "answers.jsonl").write_text(json.dumps({"gold": "1/2", "pred": "0.5"}))
    (folder / "val.jsonl").write_text(json.dumps({"question": "1 + 1?", "answer": 2}))
    (folder / "gate.toml").write_text("[default]\nlargest_loss = 0.5\n")
    for name, agent, seed in (("A", "oracle", 0), ("B", "random", 0), ("C", "random", 1)):
        nlac_bench(
            "run",
            "--env",
            "tau_retail",
            "--agent",
            agent,
            "--seed",
            str(seed),
            "--limit",
            "3",
            "--out",
            str(folder / "runs" / name),
        )
    return folder


@pytest.fixture(scope="module")
def trained(work: Path) -> Path:
    """A training run of one gradient step."""
    settings = ("train_batch_size=6", "mini_batch_size=3", "val_tasks=2", "max_response_length=48")
    nlac_bench(
        "run", "--env", 'math500_hard@{"level": 1}', "--agent", "nlac", "--budget", "steps=1", "--limit", "2",
        *(word for setting in settings for word in ("--train", setting)),
        "--out", str(work / "runs" / "trained"),
    )  # fmt: skip
    return work / "runs" / "trained"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server whose model always transfers the customer."""
    server = FaultServer(
        lambda _path, _body: completion('{"name": "transfer_to_human_agents", "arguments": {}}')
    )
    loop = asyncio.new_event_loop()
    running = server.running()
    loop.run_until_complete(running.__aenter__())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield server.url
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(running.__aexit__(None, None, None))
    loop.close()


@pytest.mark.parametrize(("command", "run"), list(cases()))
def test_commands_of_the_documentation_work(
    command: str,
    run: str,
    work: Path,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if "runs/trained" in run:
        request.getfixturevalue("trained")
    for name, value in (("url", url), ("data", os.environ.get("NLAC_BENCH_DATA", ""))):
        run = run.replace(f"{{{name}}}", value)
    program, *arguments = shlex.split(run)
    if program == "nlac-bench":
        monkeypatch.chdir(work)
        done: Any = call(*arguments, stdin="1\n" * 100)
    else:
        program = sys.executable if program.startswith("python") else program
        done = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        f"{SHOWN[command]} shows `{command}`; run as `{run}` it exited with {done.returncode}:\n"
        f"{done.stdout[-2000:]}{done.stderr[-2000:]}\n{ADVICE}"
    )


def test_every_rule_is_needed() -> None:
    for rules in (EXCEPTIONS, SUBSTITUTIONS, ADDITIONS, SLOW):
        for pattern in rules:
            candidates = [*SHOWN, *map(substituted, SHOWN)]
            assert any(re.search(pattern, command) for command in candidates), (
                f"no command on any page matches {pattern!r}; remove the rule from tests/docs/commands.py"
            )


def test_python_examples_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        for language, block in FENCED.findall(page.read_text(encoding="utf-8")):
            if language == "python":
                exec(compile(block, str(page), "exec"), {"__name__": "__example__"})
