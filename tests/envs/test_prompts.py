"""The environment prompts: files of every format, every style of reward, wrong rows, services and outages."""

import csv
import importlib
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import installed
from nlac_bench.agents.floors import cannot_play
from nlac_bench.bridges.playable import playable
from nlac_bench.envs import registry
from nlac_bench.envs.conformance import check
from nlac_bench.envs.prompts import PromptsEnv, services, table
from nlac_bench.errors import ConfigError, DataError, EnvInfraError, MissingError, NlacBenchError
from nlac_bench.harness.measure.prepare import NeedsUserError, outline
from nlac_bench.harness.runs.configuration import RunConfig

Row = dict[str, Any]


def gsm8k(index: int | str = 0, gold: str = "18", split: str = "train", **changes: Any) -> Row:
    """A row as verl's examples/data_preprocess/gsm8k.py writes it."""
    return {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": f'Question {index}. Let\'s think step by step, "####".'}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": gold},
        "extra_info": {"split": split, "index": index, "answer": f"so #### {gold}", "question": "q"},
    } | changes  # fmt: skip


def rewarded(style: str, gold: Any, source: str = "s", **extra: Any) -> Row:
    return gsm8k(data_source=source, reward_model={"style": style, "ground_truth": gold}, extra_info=extra)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: Any, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    return write


def score(env: PromptsEnv, action: str, task: int = 0) -> tuple[float, bool]:
    env.reset(seed=0, options={"task_id": env.task_ids[task]})
    _, reward, terminated, truncated, info = env.step(action)
    assert terminated and not truncated
    return float(reward), info["success"]


def test_prompts_are_rules_examples_and_a_question(written: Callable[..., Path]) -> None:
    chat = [
        {"role": "system", "content": "Rule."}, {"role": "user", "content": "1+1?"},
        {"role": "assistant", "content": "2"}, {"role": "user", "content": "2+2?"},
    ]  # fmt: skip
    env = PromptsEnv(data=written(gsm8k(prompt=chat), gsm8k("uuid-1", prompt="Text?")))
    observation, info = env.reset(options={"task_id": "row/000001"})
    assert (observation, info["policy"], info["messages"]) == ("2+2?", "Rule.", chat)
    observation, info = env.reset(options={"task_id": "row/000002"})
    assert (observation, info["messages"]) == ("Text?", [{"role": "user", "content": "Text?"}])
    assert "ground_truth" not in json.dumps(info) and "#### 18" not in json.dumps(info)


@pytest.mark.parametrize(
    ("row", "right", "wrong"),
    [
        (gsm8k(gold="1,018"), ["6*3\n#### 1018", "#### 1,018", "#### 17 no, #### 1018."],
         ["1018", "#### 1018.5", "#### 1018 " + "x" * 300, "#### 1018 #### 4"]),
        (rewarded("rule-openai/gsm8k", 18), ["#### 18"], ["#### 19", ""]),
        (rewarded("rule-lighteval/MATH", r"\frac{1}{2}"), [r"\boxed{0.5}"], [r"\boxed{2}"]),
        (rewarded("rule", "x^2", "HuggingFaceH4/MATH-500"), [r"\boxed{x\cdot x}"], [r"\boxed{x}"]),
        (rewarded("rule", "34", "aime2024"), [r"\boxed{34}"], [r"\boxed{35}"]),
        ({"question": "Capital of France?", "answer": "Paris"}, [r"\boxed{paris}", "Paris."], ["Rome"]),
        ({"question": "6*3?", "answer": "six #### 18"}, [r"\boxed{18}", "#### 18", r"\boxed{18.0}"],
         [r"\boxed{17}"]),
    ],
)  # fmt: skip
def test_rules_accept_and_refuse(
    row: Row, right: list[str], wrong: list[str], written: Callable[..., Path]
) -> None:
    env = PromptsEnv(data=written(row))
    assert [score(env, reply) for reply in right] == [(1.0, True)] * len(right)
    assert [score(env, reply) for reply in wrong] == [(0.0, False)] * len(wrong)
    env.reset(seed=0)
    assert score(env, env.oracle_action()) == (1.0, True)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("text", "row 2 must be an object, got 'text'"),
        ({"prompt": "q"}, "row 2, column reward_model: is missing"),
        ({"text": "q"}, "row 2, column prompt: is missing .*found text"),
        ({"question": "q", "answer": None}, "row 2, column answer: must be a text or a number"),
        ({"question": 3, "answer": "a"}, "row 2, column question: must be text, got 3"),
        (gsm8k(prompt=[]), "row 2, column prompt: must be a text or a list"),
        (gsm8k(prompt=[{"role": "tool", "content": "x"}]), r"prompt\[0\].role: must be one of"),
        (gsm8k(prompt=[{"role": "user", "content": ["x"]}]), r"prompt\[0\].content: must be text"),
        (gsm8k(prompt=[{"role": "assistant", "content": "x"}]), "row 2, column prompt: .*end with user"),
        (gsm8k(extra_info="x"), "row 2, column extra_info: must be an object"),
        (gsm8k(reward_model="rule"), "row 2, column reward_model: must be an object"),
        (rewarded("rules", "1"), "row 2, column reward_model.style: must be one of .* got 'rules'"),
        (rewarded("rule", "1", "my/own"), "row 2, column data_source: 'my/own' has no rule"),
        (rewarded("rule-openai/gsm8k", {"a": 1}), "row 2, column reward_model.ground_truth: must be a text"),
        (rewarded("agent_env", "my_pkg:Env-v0"), "row 2, column reward_model.ground_truth: .*not a built-in"),
        (rewarded("agent_env", 'prompts@{"data": "x"}'), "ground_truth: 'prompts' is not"),
        (rewarded("agent_env", 'tau_retail@{"data": "/etc"}'), "argument data .*embedded or official"),
        (rewarded("agent_env", 'tau_retail@{"data": 3}'), "argument data .*embedded or official"),
        (rewarded("agent_env", 'twenty_questions@{"recording": "x"}'), "argument recording .* a number"),
        (rewarded("agent_env", 'tau_retail@{"user": "replay", "replies": "/etc/passwd"}'), "argument user"),
        (rewarded("agent_env", 'tau_retail@{"replies": "x"}'), "argument replies .*must be a number"),
        (rewarded("agent_env", 'tau_retail@{"user": "human"}'), "argument user .*scripted or none"),
        (rewarded("agent_env", 'tau_retail@{"user": ["human"]}'), "argument user .*scripted or none"),
        (rewarded("agent_env", 'tau_retail@{"chat": {"a": "b"}}'), "argument chat .*must be a number"),
        (rewarded("agent_env", "tau_retail@{"), "ground_truth: environment string"),
        (rewarded("code-sandbox", "{"), "row 2, column reward_model.ground_truth: is not JSON"),
        (rewarded("code-sandbox", {"inputs": ["1"], "outputs": []}), "lists inputs and outputs of the same"),
        (rewarded("code-sandbox", {"inputs": ["1"], "outputs": ["1"]}), "row 2, .*set the argument sandbox"),
        (rewarded("verifier_service", "x"), "row 2, .*set the argument verifier"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named_by_number_and_column(
    row: Any, message: str, written: Callable[..., Path]
) -> None:
    with pytest.raises((DataError, ConfigError), match=message):
        PromptsEnv(data=written(gsm8k(), row))


def test_files_that_cannot_be_read_are_refused(written: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text('{"question": "q", "answer": 1}\n{"question": \n')
    (tmp_path / "ragged.csv").write_text("question,answer\nq,1\nq\n")
    (tmp_path / "other.txt").write_text("x")
    (tmp_path / "link.jsonl").symlink_to(written(gsm8k()))
    for name, message in {
        "broken.jsonl": "row 2 is not JSON",
        "ragged.csv": "row 2 has not the 2 cells",
        "other.txt": "expected a file that ends with",
        "link.jsonl": "it is a link",
        "missing.jsonl": "cannot be read",
    }.items():
        with pytest.raises(DataError, match=message):
            PromptsEnv(data=tmp_path / name)
    with pytest.raises(DataError, match="has no rows"):
        PromptsEnv(data=written())


def test_csv_and_json_lists_have_the_rows_of_json_lines(tmp_path: Path) -> None:
    rows = [gsm8k(1), gsm8k(2, gold="7")]
    with (tmp_path / "rows.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows
        )
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    for name in ("rows.csv", "rows.json"):
        env = PromptsEnv(data=tmp_path / name)
        assert score(env, "#### 7", task=1) == (1.0, True)
    (tmp_path / "plain.csv").write_text('question,answer,split\n[1],"[-1, 1]",\ny?,"[2,5)",\nz?,"{1, 2}",\n')
    env = PromptsEnv(data=tmp_path / "plain.csv")
    assert env.reset(options={"task_id": "row/000001"})[0] == "[1]"
    for task, (right, wrong) in enumerate((("[-1, 1]", "(-1, 1)"), ("[2,5)", "[2,5]"), (r"\{2, 1\}", "1"))):
        assert score(env, rf"\boxed{{{right}}}", task) == (1.0, True)
        assert score(env, rf"\boxed{{{wrong}}}", task) == (0.0, False)


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingError, match=r"nlac-bench\[frames\]"):
        PromptsEnv(data=tmp_path / "rows.parquet")


def test_parquet_as_datasets_writes_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [
        gsm8k(0, extra_info={"split": "train", "index": 0, "answer": "#### 18", "question": "q"}),
        gsm8k(1, gold="7", extra_info={"split": "train", "index": 1, "need_tools_kwargs": True,
                                       "tools_kwargs": {"calc": {"create_kwargs": {"ground_truth": "7"}}}}),
    ]  # fmt: skip
    path = tmp_path / "train.parquet"
    datasets.Dataset.from_list(rows).to_parquet(str(path))
    env = PromptsEnv(data=path)
    assert score(env, "#### 18", 0) == score(env, "#### 7", 1) == (1.0, True)
    assert "need_tools_kwargs" not in env.stored_row("row/000001")["extra_info"]  # Arrow's null
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="parquet that can be read"):
        PromptsEnv(data=path)


@pytest.mark.parametrize("kind", ["text", "dictionary", "list", "map", "numbers"])
def test_repetitions_of_few_bytes_are_counted_in_parquet(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr(table, "MAX_PARQUET_BYTES", 2**20)
    texts = ["x" * 1000] * 2000
    cells = {
        "text": pa.array(texts),
        "dictionary": pa.array(texts).dictionary_encode(),
        "list": pa.array([[{"a": text} for text in texts]]),
        "map": pa.array([[(text, text)] for text in texts], pa.map_(pa.string(), pa.string())),
        "numbers": pa.array([[7] * 200_000]),
    }[kind]
    path = tmp_path / "rows.parquet"
    importlib.import_module("pyarrow.parquet").write_table(pa.table({"question": cells}), path)
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match=r"it has [\d,]+ rows of [\d,]+ bytes or more; at most"):
        list(table.read_table(path, path.read_bytes()))
    monkeypatch.setattr(table, "MAX_PARQUET_BYTES", 2**23)
    assert len(list(table.read_table(path, path.read_bytes()))) == len(cells)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_values_are_counted_over_all_rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"rows.jsonl": b'{"prompt": [1, 2]}\n' * 3, "rows.csv": b'prompt\n"[1, 2]"\n"[1, 2]"\n"[1, 2]"\n'}
    monkeypatch.setattr(table, "MAX_VALUES", 12)
    assert len(list(table.read_table(tmp_path / name, rows[name]))) == 3
    monkeypatch.setattr(table, "MAX_VALUES", 11)
    with pytest.raises(DataError, match="more than 11 values"):
        list(table.read_table(tmp_path / name, rows[name]))


def test_splits(written: Callable[..., Path], tmp_path: Path) -> None:
    train, val = written(gsm8k(0), gsm8k(1)), written(gsm8k(2), name="val.jsonl")
    both = {split: PromptsEnv(data=train, val=val, split=split) for split in ("train", "test")}
    assert [len(env.task_ids) for env in both.values()] == [2, 1]
    assert not set(both["train"].task_ids) & set(both["test"].task_ids)
    named = written(gsm8k(0), gsm8k(1, split="test"), gsm8k(2, split="validation"), name="named.jsonl")
    assert [PromptsEnv(data=named, split=s).task_ids for s in ("train", "test", "validation")] == [
        ("train/000001",), ("test/000002",), ("validation/000003",)
    ]  # fmt: skip
    plain = [{"question": "q", "answer": 1, **({"split": s} if s else {})} for s in ("train", "test", "", "")]
    for rows in (plain, [gsm8k(0), gsm8k(1, split="test"), gsm8k(2, extra_info={})]):
        with pytest.raises(DataError, match="row 3 names no split, while others name train, test; name one"):
            PromptsEnv(data=written(*rows, name="some.jsonl"))
    (tmp_path / "some.csv").write_text("question,answer,split\nq,1,train\nq,1,test\nq,1,\n")
    with pytest.raises(DataError, match="row 3 names no split"):
        PromptsEnv(data=tmp_path / "some.csv")
    assert PromptsEnv(data=written(plain[0], plain[2], name="one.jsonl")).task_ids == (
        "row/000001",
        "row/000002",
    )
    assert PromptsEnv(data=train).task_ids == ("row/000001", "row/000002")
    with pytest.warns(UserWarning, match="are also measured; set val"):
        PromptsEnv(data=train, split="train")
    with warnings.catch_warnings(action="error"):
        PromptsEnv(data=train, val=val, split="train")
    with pytest.raises(ValueError, match="split must be 'train' or 'test'"):
        PromptsEnv(data=train, split="dev")


def test_a_row_is_an_episode_of_another_environment(written: Callable[..., Path]) -> None:
    inner = registry.make_text_env("tau_retail", level="easy")
    rows = [rewarded("agent_env", 'tau_retail@{"level": "easy"}', index=3),
            rewarded("agent_env", 'TwentyQuestions@{"split": "train"}', task_id="train-0004")]  # fmt: skip
    rows[1]["extra_info"]["task_id"] = registry.make_text_env("twenty_questions", split="train").task_ids[4]
    env = PromptsEnv(data=written(*rows))
    for task, steps in (("row/000001", inner.max_steps), ("row/000002", 20)):
        _, info = env.reset(seed=1, options={"task_id": task})
        assert env.max_steps == steps
        assert bool(info["tools"]) is (task == "row/000001")
        ended, twin = False, env.fork()
        while not ended:
            _, _, ended, _, info = env.step(env.oracle_action())
        assert info["success"] and info["reward_parts"]
        twin.step("a wrong action")  # the fork is an episode of its own
    env.reset(seed=1, options={"task_id": "row/000001"})
    assert env._state.inner.task_id == inner.task_ids[3]


@pytest.mark.parametrize(
    "text",
    [
        'tau_retail@{"data": "embedded", "user": "scripted", "level": "easy", "tasks": [0, 1], "chat": null}',
        'tau_airline@{"reward": "shaped@{\\"consented\\": 0.2}", "render_mode": "ansi", "split": "train"}',
        'shop_worlds@{"rules": "hidden", "worlds": "held_out", "world": 1003}',
        'math500_hard@{"num_tasks": 3, "problem_seed": 1, "level": 5}',
        'twenty_questions@{"oracle": "knowledge", "unknowns": "no", "recording": null}',
        'first_steps@{"family": null}',
    ],
)
def test_a_row_chooses_tasks_and_rules_of_its_environment(text: str, written: Callable[..., Path]) -> None:
    env = PromptsEnv(data=written(rewarded("agent_env", text)))
    env.reset(seed=0)
    assert not env.floors_only


def test_rows_whose_user_is_none_are_for_floors_only(written: Callable[..., Path]) -> None:
    none, scripted = (
        rewarded("agent_env", f'tau_retail@{{"user": "{user}"}}') for user in ("none", "scripted")
    )
    train, val = written(none, name="train.jsonl"), written(scripted, gsm8k(), name="val.jsonl")
    for split in ("train", "test"):
        assert PromptsEnv(data=train, val=val, split=split).floors_only
    assert not PromptsEnv(data=val).floors_only
    text = f'prompts@{{"data": "{train}"}}'
    with pytest.raises(NlacBenchError, match="needs a model that plays the user"):
        playable(text)
    with pytest.raises(NeedsUserError, match="let the rows name environments that need no model"):
        outline(RunConfig(env=text, agent="react", model="tiny"))
    assert len(outline(RunConfig(env=text, agent="oracle")).plan) == 1


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package registers plain Gymnasium environments."""
    points = [
        EntryPoint(name, "tests.envs.plain_env:Echo", registry.PLUGIN_GROUP) for name in ("echo", "echo2")
    ]
    monkeypatch.setattr(installed, "entry_points", lambda group: [p for p in points if p.group == group])


@pytest.mark.usefixtures("plain")
def test_a_row_is_an_episode_of_a_plain_environment(written: Callable[..., Path]) -> None:
    texts = ("echo", 'echo@{"steps": 2}', 'echo@{"reports": 0, "steps": 1}', 'echo@{"locked": true}')
    env = PromptsEnv(data=written(*(rewarded("agent_env", text, seed=5, index=7) for text in texts)))
    ends = []
    for task in env.task_ids:
        for right in (True, False):
            colour, _ = env.reset(options={"task_id": task})
            assert colour == registry.make_text_env("echo").reset(seed=5)[0]
            ended = False
            while not ended:
                _, reward, ended, _, info = env.step(colour if right else "no")
            ends.append((reward, info["success"], info["end_reason"]))
    reported = [(1.0, True, "success"), (0.0, False, "failure")]
    assert ends == [*reported, *reported, (1.0, None, "failure"), (0.0, None, "failure"), *reported]
    first = env._state.inner.wrapped.unwrapped
    env.close()
    assert first.closed


@pytest.mark.usefixtures("plain")
def test_rows_have_the_oracle_of_their_environment(written: Callable[..., Path]) -> None:
    own = written(gsm8k(), rewarded("agent_env", "first_steps"), name="own.jsonl")
    none = written(gsm8k(), rewarded("agent_env", "echo"), name="none.jsonl")
    assert PromptsEnv(data=own).has_oracle and not PromptsEnv(data=none).has_oracle
    with pytest.raises(ConfigError, match="lacks one for its tasks; use 'random'"):
        outline(RunConfig(env=f'prompts@{{"data": "{none}"}}', agent="oracle"))


def test_constant_is_left_out_without_a_split_to_search_on(written: Callable[..., Path]) -> None:
    rows = (gsm8k(extra_info={"split": split}) for split in ("test", "dev"))
    text = f'prompts@{{"data": "{written(*rows)}"}}'
    why = cannot_play("constant", registry.make_text_env(text), lambda: registry.make_training_env(text))
    assert why == "split must be 'test' or 'dev', got 'train'"


@pytest.mark.usefixtures("plain")
def test_the_limit_and_the_split_of_a_plain_environment(written: Callable[..., Path]) -> None:
    split = rewarded("agent_env", 'echo@{"split": "train", "steps": 2000}', task_id="train-3")
    env = PromptsEnv(data=written(split))
    env.reset(seed=0)
    assert env._state.inner.task_id == "train-3" and env.max_steps == 1_000
    for _ in range(env.max_steps):
        *_, ended, _, info = env.step("no")
    assert ended and (info["success"], info["end_reason"]) == (None, "max_steps")
    with pytest.raises(NlacBenchError, match="no argument 'colour'"):
        PromptsEnv(data=written(rewarded("agent_env", 'echo@{"split": "train", "colour": 1}'))).reset()


def test_the_environment_conforms(written: Callable[..., Path]) -> None:
    path = written(*(gsm8k(i, gold=str(i)) for i in range(12)), rewarded("agent_env", "first_steps"))

    def make_env(**arguments: Any) -> PromptsEnv:
        return PromptsEnv(data=path, **arguments)

    results = check(make_env)
    assert {each.name: each.detail for each in results if each.passed is False} == {}


Reply = Callable[[dict[str, Any]], tuple[int, Any]]


@contextmanager
def serving(reply: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A service on this machine; yields its URL and the requests that it got."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({"path": self.path, **body})
            status, content = reply(body)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "PAUSE_S", 0)


@pytest.mark.parametrize(
    ("reply", "scored"),
    [({"score": 1}, (1.0, True)), ({"score": 0.4}, (0.4, False)),
     ({"score": 0.4, "success": True}, (0.4, True)), ({"score": -2, "info": {"a": 1}}, (-2.0, False))],
)  # fmt: skip
def test_a_verifier_scores(
    reply: dict[str, Any], scored: tuple[float, bool], written: Callable[..., Path]
) -> None:
    with serving(lambda body: (200, reply)) as (url, asked):
        env = PromptsEnv(data=written(rewarded("verifier_service", {"k": 1}, index=4)), verifier=url)
        assert score(env, "my reply") == scored
        assert env.conditions() == {"verifier": url}
    assert asked == [{"path": "/", "solution": "my reply", "ground_truth": {"k": 1}, "data_source": "s",
                      "extra_info": {"index": 4}}]  # fmt: skip


@pytest.mark.parametrize(
    "reply",
    [(500, {"score": 1}), (201, {"score": 1}), (302, {"score": 1}), (200, b'{"score": NaN}'), (200, {}),
     (200, {"score": "1"}), (200, {"score": True}), (200, [1]), (200, b"{"),
     (200, {"score": 1, "success": 1}), (200, b'{"score": 1e999}'), (200, b" " * (2**20 + 1))],
)  # fmt: skip
def test_anything_but_a_finite_score_is_an_infrastructure_error(
    reply: tuple[int, Any], written: Callable[..., Path]
) -> None:
    with serving(lambda body: reply) as (url, asked):
        env = PromptsEnv(data=written(rewarded("verifier_service", "x")), verifier=url)
        with pytest.raises(EnvInfraError, match="gave no verdict in 3 attempts"):
            score(env, "reply")
    assert len(asked) == services.ATTEMPTS


def test_a_verifier_that_recovers_is_asked_again(written: Callable[..., Path]) -> None:
    answers = iter([(503, {}), (200, {"score": 1.0})])
    with serving(lambda body: next(answers)) as (url, _):
        assert score(PromptsEnv(data=written(rewarded("verifier_service", "x")), verifier=url), "r") == (
            1,
            True,
        )


def sandbox(body: dict[str, Any]) -> tuple[int, Any]:
    """A fake SandboxFusion: the program prints its input, fails, or hangs."""
    ran = {"status": "Finished", "return_code": 0, "stdout": body["stdin"] + "\n", "stderr": ""}
    if "raise" in body["code"]:
        return 200, {"status": "Failed", "message": "", "run_result": ran | {"status": "Error"}}
    if "while True" in body["code"]:
        return 200, {"status": "Failed", "message": "", "run_result": ran | {"status": "TimeLimitExceeded"}}
    return 200, {"status": "Success", "message": "", "run_result": ran}


@pytest.mark.parametrize(
    ("reply", "scored"),
    [("first\n```python\nx\n```\nlast\n```python\nprint(input())\n```", (2 / 3, False)),
     ("```py\nraise\n```", (0.0, False)), ("```python\nwhile True: pass\n```", (0.0, False)),
     ("no code", (0.0, False))],
)  # fmt: skip
def test_code_is_run_by_the_sandbox_and_never_here(
    reply: str, scored: tuple[float, bool], written: Callable[..., Path]
) -> None:
    cases = {"inputs": ["1", "2", "3"], "outputs": ["1", "2\n", "4"]}
    with serving(sandbox) as (url, asked):
        env = PromptsEnv(data=written(rewarded("code-sandbox", json.dumps(cases))), sandbox=f"{url}/")
        assert score(env, reply) == pytest.approx(scored)
    assert {each["path"] for each in asked} <= {"/run_code"}
    assert all(each["language"] == "python" and "first" not in each["code"] for each in asked)


def test_a_function_is_called_with_json(written: Callable[..., Path]) -> None:
    cases = {"fn_name": "add", "inputs": ["1\n2"], "outputs": ["3"]}

    def run(body: dict[str, Any]) -> tuple[int, Any]:
        import contextlib
        import io
        import sys
        from unittest import mock

        out = io.StringIO()  # the test's own program, which is run as a sandbox would
        with mock.patch.object(sys, "stdin", io.StringIO(body["stdin"])), contextlib.redirect_stdout(out):
            exec(body["code"], {})
        return 200, {"status": "Success", "run_result": {"status": "Finished", "stdout": out.getvalue()}}

    with serving(run) as (url, _):
        env = PromptsEnv(data=written(rewarded("code-sandbox", cases)), sandbox=url)
        assert score(env, "```python\ndef add(a, b):\n    return a + b\n```") == (1.0, True)
        assert score(
            env, "```python\nclass Solution:\n    def add(self, a, b):\n        return a - b\n```"
        ) == (
            0.0,
            False,
        )
        cases |= {"inputs": ['"a\u2028"\n"b"\n'], "outputs": ['"a\u2028b"']}
        env = PromptsEnv(data=written(rewarded("code-sandbox", cases)), sandbox=url)
        assert score(env, "```python\ndef add(a, b):\n    return a + b\n```") == (1.0, True)


@pytest.mark.parametrize(
    "reply",
    [(500, {}), (200, {"status": "SandboxError", "message": "no pods"}), (200, {"status": "Success"})],
)
def test_an_outage_of_the_sandbox_is_never_a_zero(
    reply: tuple[int, Any], written: Callable[..., Path]
) -> None:
    with serving(lambda body: reply) as (url, _):
        env = PromptsEnv(
            data=written(rewarded("rule", {"inputs": ["1"], "outputs": ["1"]}, "taco")), sandbox=url
        )
        with pytest.raises(EnvInfraError):
            score(env, "```python\nprint(1)\n```")
    with pytest.raises(EnvInfraError):  # the server has gone
        score(env, "```python\nprint(1)\n```")


def test_a_service_is_an_address(written: Callable[..., Path]) -> None:
    for url in ("file:///etc/passwd", "localhost:80", 3):
        with pytest.raises(ConfigError, match="verifier must be an address"):
            PromptsEnv(data=written(gsm8k()), verifier=url)  # type: ignore[arg-type]


def test_a_file_that_changed_is_read_again(written: Callable[..., Path]) -> None:
    before = PromptsEnv(data=written(gsm8k(gold="1")))
    assert PromptsEnv(data=written(gsm8k(gold="1"), name="copy.jsonl")).source == before.source
    after = PromptsEnv(data=written(gsm8k(gold="22")))
    assert score(after, "#### 22") == (1.0, True)
    assert before.source != after.source
    with pytest.raises(ConfigError, match="set --data FILE"):
        PromptsEnv()
