"""No secret reaches a file or the screen: whole commands, with a server that quotes the keys it was sent."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nlac_bench.agents.nlac.replay import Replay
from tests.agents.test_nlac import transition
from tests.cli.command import Done, call, nlac_bench
from tests.harness.leaks import encodings, leaking_files, leaks
from tests.harness.test_secrets import URLS, VALUE
from tests.rollout.fault_server import FaultServer, Reply, completion

_ORACLE = 'twenty_questions@{"oracle": "llm", "recording": "%s"}'


class Quoting:
    """A server whose replies, of each kind in turn, quote ``text``."""

    def __init__(self) -> None:
        self.text = ""
        self.asked = 0
        self.server = FaultServer(self.answer)

    def answer(self, path: str, body: dict[str, Any]) -> Reply:
        """Quote the text as content, in a tool call, or in an error."""
        text = self.text
        if body["model"] == "oracle":
            return completion(f"Yes. {text}")
        self.asked += 1
        arguments = json.dumps({text: [text]})
        call = {"id": text, "type": "function", "function": {"name": text, "arguments": arguments}}
        kinds: list[Reply] = [
            completion(f"{text}\n\nIs it alive?"),
            (400, {"error": {"message": f"no: {text}", "code": text, "param": {text: text}}}),
            completion(None, tool_calls=[call]),
            (500, {"detail": [{"headers": {"authorization": f"Bearer {text}"}, "msg": text}]}),
            {**completion("Is it big?"), "model": text, "system_fingerprint": text},
            {**completion(""), "choices": [{"message": {"content": text}, "finish_reason": {text: text}}]},
            completion(text, reasoning_content=text, refusal=text),
        ]
        return kinds[self.asked % len(kinds)]


@pytest.fixture(scope="module")
def quoting() -> Iterator[Quoting]:
    made, ready, done = Quoting(), threading.Event(), threading.Event()

    async def serve() -> None:
        async with made.server.running():
            ready.set()
            while not done.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    yield made
    done.set()
    thread.join()


def shown(done: Done) -> str:
    return done.stdout + done.stderr


_HEADER = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=30)
_ANY = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs", "Cc", "Z"]), min_size=12, max_size=30
)


@pytest.mark.slow  # decodes every file and all output of six runs in every usual way
@settings(max_examples=6, phases=[Phase.generate])
@given(key=_HEADER, other=_ANY)
def test_no_file_and_no_output_of_a_run_has_a_secret(quoting: Quoting, key: str, other: str) -> None:
    key, other = f"aZ0{key}", f"pW1{other}"  # random texts that are not ordinary words
    quoting.text = " | ".join([*encodings(key), *encodings(other)])
    environment = {"NLAC_BENCH_API_KEY": key, "TEAM_PASSWORD": other}
    server = quoting.server.url
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        outputs = [
            call(
                "run", "--env", _ORACLE % (folder / "answers.jsonl"), "--agent", "act", "--model", "m",
                "--base-url", server, "--user-model", "oracle", "--user-base-url", server,
                "--record", str(folder / "calls.jsonl"), "--limit", "8", "--max-turns", "1", "--retries", "0",
                "--out", str(folder / "run"), "--json", **environment,
            ),
            call("score", str(folder / "run"), **environment),
        ]  # fmt: skip
        assert [done.returncode for done in outputs] == [3, 0]
        for name in ("answers.jsonl", "calls.jsonl", "run/episodes.jsonl", "run/errors.jsonl"):
            assert (folder / name).stat().st_size, name
        assert "[redacted: $" in (folder / "run" / "episodes.jsonl").read_text()
        for secret in (key, other):
            assert leaking_files(secret, folder) == []
            assert not any(leaks(secret, shown(done)) for done in outputs)


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_urls_with_secrets_are_refused_before_anything_is_written(url: str, tmp_path: Path) -> None:
    plain = ("--env", "twenty_questions", "--agent", "act", "--model", "m")
    for arguments in (
        ("run", *plain, "--base-url", url),
        ("run", *plain, f"--base-url={url}", "--dry-run"),
        ("eval", *plain, "--user-model", "m", "--user-base-url", url),
        ("play", "twenty_questions", "--agent", "act", "--model", "m", "--base-url", url),
        ("run", "--env", "x@" + json.dumps({"judge_url": url}), "--agent", "act"),
        ("data", "fetch", "tau", "--from", url),
    ):
        if "://" not in url and "--from" in arguments:
            continue  # the name of a folder
        out = ("--out", str(tmp_path / "run")) if arguments[0] in ("run", "eval") else ()
        done = nlac_bench(*arguments, *out, status=2)
        assert VALUE not in shown(done) and "OPENAI_API_KEY" in done.stderr and not done.stdout
        assert not list(tmp_path.iterdir())


def test_arguments_with_secrets_are_refused_by_every_command(tmp_path: Path) -> None:
    token = f"key-{VALUE}1234567890"
    for arguments in (
        ("run", "--api-key", VALUE),
        ("run", f"--apiKey={VALUE}"),
        ("run", "--env", "x", "--agent", "act", "--train", f"access_token={VALUE}"),
        ("run", "--limit", token),
        ("run", "--out", str(tmp_path / token)),
        ("resume", str(tmp_path / token)),
        ("score", token),
        ("compare", token, token),
        ("sweep", token, "--out", "x"),
        ("grade", token),
        ("critiques", token),
        ("floors", "--env", token),
        ("tiny", "build", "--out", token),
        ("data", "verify", token),
        ("envs", "show", f'x@{{"clientSecret": "{VALUE}"}}'),
        ("envs", "check", f'x@{{"a": "{{\\"x-api-key\\": \\"{VALUE}\\"}}"}}'),
        ("envs", "show", f'x@{{"api_key": "{VALUE}"'),
    ):
        done = nlac_bench(*arguments, status=2, TEAM_KEY=token)
        assert VALUE not in shown(done) and "NLAC_BENCH_API_KEY" in done.stderr and not done.stdout
    assert not list(tmp_path.iterdir())


def test_the_value_of_a_key_as_an_argument_is_refused() -> None:
    done = nlac_bench(
        "run", "--env", "tau_retail", "--agent", "act", "--model", f"a{VALUE}b", status=2, MY_KEY=VALUE
    )
    assert (
        VALUE not in shown(done)
        and "--model contains the value of the environment variable MY_KEY" in done.stderr
    )


def test_sweep_files_with_secrets_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        'methods = ["nlac"]\n[seeds]\ntau_retail = [0]\n[run]\nmodel = "m"\n'
        f'base_url = "http://h/v1?api_key={VALUE}"\n'
    )
    done = nlac_bench("sweep", str(file), "--out", str(tmp_path / "out"), status=2)
    assert VALUE not in shown(done) and "run.base_url" in done.stderr and "OPENAI_API_KEY" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_old_run_with_a_key_in_its_configuration_is_not_resumed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    nlac_bench("run", "--env", "twenty_questions", "--agent", "silent", "--limit", "1", "--out", str(run))
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "base_url": f"http://h/v1?token={VALUE}"}))
    done = nlac_bench("resume", str(run), status=2)
    assert VALUE not in shown(done) and "config.json: base_url" in done.stderr


_LEAKY = """
import os, sys, warnings
import gymnasium
from gymnasium.spaces import Text

class Leaky(gymnasium.Env):
    observation_space = action_space = Text(9)
    def __init__(self, how="raise"):
        key = os.environ["TEAM_TOKEN"]
        warnings.warn("made with " + key)
        print("made with", key, file=sys.stderr)
        if how == "raise":
            raise RuntimeError(f"Authorization: Bearer {key}")

gymnasium.register("Leaky-v0", Leaky)
"""


def test_tracebacks_and_warnings_are_redacted(tmp_path: Path) -> None:
    (tmp_path / "leaky.py").write_text(_LEAKY)
    key = 'tok-"quoted"-77é'
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-m", "nlac_bench", "envs", "show", "leaky:Leaky-v0"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": root, "TEAM_TOKEN": key, "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode != 0 and "[redacted: $TEAM_TOKEN]" in done.stderr
    assert not leaks(key, done.stdout + done.stderr)


def test_doctor_prints_no_key() -> None:
    done = nlac_bench("doctor", OPENAI_API_KEY=f"k-{VALUE}", OPENAI_BASE_URL=f"http://u:{VALUE}@h/v1")
    assert VALUE not in shown(done) and "OPENAI_API_KEY" in done.stdout


def test_the_replay_buffer_has_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = 'buf-"77"-é\\x'
    monkeypatch.setenv("TEAM_SECRET", key)
    replay = Replay()
    replay.add([transition(f"hello {each}", notes={"critique": each}) for each in encodings(key)])
    replay.save(tmp_path / "replay.jsonl.gz")
    assert leaking_files(key, tmp_path) == []
    loaded = Replay()
    loaded.load(tmp_path / "replay.jsonl.gz")
    assert len(loaded) == len(replay)
    replay.add([transition("nothing", action_ids=[1]), transition(key, action_ids=[1])])
    replay.save(tmp_path / "replay.jsonl.gz")
    loaded.load(tmp_path / "replay.jsonl.gz")
    assert [item.action_ids for item in loaded.items[-2:]] == [[1], None]


def test_a_key_that_no_header_can_hold_is_refused() -> None:
    for key in ("key-in-a-file-77\n", "schlüssel-77", " key-77-77"):
        done = nlac_bench(
            "run", "--env", "twenty_questions", "--agent", "act", "--model", "m", "--base-url", "http://127.0.0.1:9/v1",
            status=2, NLAC_BENCH_API_KEY=key,
        )  # fmt: skip
        assert "NLAC_BENCH_API_KEY" in done.stderr and key.strip() not in shown(done)
