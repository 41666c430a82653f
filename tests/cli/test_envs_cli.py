"""``nlac-bench envs`` and ``play``, in this process: --json, width, task counts, agents."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nlac_bench.cli import app
from nlac_bench.cli.output import console
from nlac_bench.envs import registry

ROOT = Path(__file__).parents[2]
EXAMPLE = "examples.register_env:CountDown-v0"
UNREPORTED = "tests.envs.plain_env:nlac_bench_test/EchoUnreported-v0"


def called(*arguments: str, stdin: str = "") -> Any:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def checked(name: str) -> tuple[int, dict[str, Any]]:
    done = called("envs", "check", name, "--json")
    assert done.stdout.count("\n") == 1, done.output
    return done.exit_code, json.loads(done.stdout)


def test_list_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_width", 80)
    lines = called("envs", "list").stdout.splitlines()
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)
    text = "\n".join(lines)
    for name, (env_id, _) in registry.BUILTIN.items():
        assert f"{name}  {env_id}" in text, "names and ids are not broken"
    assert "360 test tasks (embedded data), step limit 30" in text
    for name in registry.BUILTIN_WITH_ARGUMENTS:
        assert f"{name}  {name}@{{json}}" in text


def test_counts_of_tasks_agree_with_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    listed = {row["name"]: row for row in json.loads(called("envs", "list", "--json").stdout)["environments"]}
    for name in registry.BUILTIN:
        train = len(registry.make_training_env(name).task_ids)
        assert listed[name]["split"] == "test"
        assert re.search(rf"^\| `{name}` \|.*\| {listed[name]['tasks']} / {train:,}\b", readme, re.MULTILINE)


def test_show_names_the_splits() -> None:
    for name, splits in (("tau_airline", ["train", "validation", "test"]), (EXAMPLE, ["train", "test"])):
        assert json.loads(called("envs", "show", name, "--json").stdout)["splits"] == splits
        assert re.search(rf"splits .*{', '.join(splits)} ", called("envs", "show", name).stdout)


@pytest.mark.parametrize("name", ["tau_retail", "math500_hard", EXAMPLE])
def test_show_of_a_world_names_the_environments_with_worlds(name: str) -> None:
    done = called("envs", "show", name, "--world", "3")
    assert done.exit_code == 2 and not done.stdout
    message = " ".join(done.stderr.split())
    assert f"--world 3: {name} has no worlds; of the built-in environments shop_worlds has them" in message
    assert called("envs", "show", "shop_worlds", "--world", "3", "--json").exit_code == 0


def test_check_of_the_example_holds_without_warnings() -> None:
    code, report = checked(EXAMPLE)
    assert code == 0 and report["holds"] is True and report["ok"] is True and report["warnings"] == []
    assert all(check["ok"] is True for check in report["checks"]) and len(report["checks"]) > 10
    assert all({"name", "ok", "message"} <= set(check) for check in report["checks"])


def test_check_of_a_plain_environment_warns_and_marks_what_does_not_apply() -> None:
    code, report = checked(UNREPORTED)
    assert code == 0 and report["holds"] is True
    found = {check["name"]: check["ok"] for check in report["checks"]}
    assert found["seeding"] is True and found["fork"] is None
    (warning,) = report["warnings"]
    assert "end without info['success']" in warning and "cannot be trained" in warning


def test_check_warns_of_an_empty_policy_and_a_missing_split(tmp_path: Path, monkeypatch: Any) -> None:
    source = (ROOT / "examples" / "register_env.py").read_text()
    source = source.replace('"""Say the number', '"""', 1).replace("def policy", "def unused")
    source = re.sub(r'    """below.*?"""\n|    """.*until you have said 1\."""\n', "", source)
    source = source.replace('split: str = "test", ', "").replace("split=split", 'split="test"')
    source = source.replace("TASKS[split]", 'TASKS["test"]').replace("CountDown-v0", "Mute-v0")
    (tmp_path / "mute_env.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    code, report = checked("mute_env:Mute-v0")
    assert code == 0 and report["holds"]
    assert [w.partition(":")[0] for w in report["warnings"]] == [
        "the policy text is empty",
        "the constructor does not accept split='train'",
    ]


def test_check_that_does_not_hold_exits_1(tmp_path: Path, monkeypatch: Any) -> None:
    source = (ROOT / "examples" / "register_env.py").read_text().replace("CountDown-v0", "Wrong-v0")
    source = source.replace("str(self._state[0] - 1)", "str(self._state[0])")
    source = source.replace("== self.oracle_action()", "== str(self._state[0] - 1)")
    (tmp_path / "wrong_env.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    code, report = checked("wrong_env:Wrong-v0")
    assert code == 1 and report["holds"] is False
    assert [c["name"] for c in report["checks"] if c["ok"] is False] == ["oracle"]


PLAIN_SOURCE = '''
import datetime, gymnasium
from nlac_bench.envs import UnicodeText

class Env(gymnasium.Env):
    """Say anything."""
    observation_space = action_space = UnicodeText(100)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "hi", {}
    def step(self, action):
        return "done", 1.0, True, False, {INFO}

gymnasium.register("NAME-v0", Env)
'''


@pytest.mark.parametrize(
    ("name", "info", "said"),
    [
        ("TextSuccess", "{'success': 'yes'}", "must be True, False or None, got 'yes'"),
        ("Dated", "{'success': True, 'when': datetime.date(2026, 1, 1)}", "is a date, which JSON cannot"),
        (
            "TextParts",
            "{'success': True, 'reward_parts': {'a': 'high'}}",
            "a dict of names and finite numbers",
        ),
        ("TextUsage", "{'success': True, 'usage': 'lots'}", "info['usage'] must be a dict of roles"),
        ("LongNumber", "{'success': True, 'n': 10 ** 5000}", "info.n is an integer of 16,610 bits"),
        ("PlainInfo", "{'success': True, 'reward_parts': {'a': 0.5}, 3: 1, ('a', 'b'): 2}", None),
    ],
)
def test_check_refuses_what_run_cannot_store(
    name: str, info: str, said: str | None, tmp_path: Path, monkeypatch: Any
) -> None:
    source = PLAIN_SOURCE.replace("{INFO}", info).replace("NAME", name)
    (tmp_path / f"{name.lower()}_stored.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    code, report = checked(f"{name.lower()}_stored:{name}-v0")
    (last,) = [c for c in report["checks"] if c["name"] == "a run stores an episode"]
    assert (code, report["holds"]) == ((0, True) if said is None else (1, False))
    assert last["ok"] is (said is None) and (said or "") in last["message"]
    assert "set_int_max_str_digits" not in str(report)
    dry = called("run", "--env", f"{name.lower()}_stored:{name}-v0", "--agent", "random", "--dry-run")
    assert dry.exit_code == (0 if said is None else 2)
    assert (said or "planned: 100 episodes") in " ".join(dry.output.split())


@pytest.mark.parametrize(
    ("name", "tools", "said"),
    [
        ("TextTools", "'get'", "info['tools'] must be a list of tools"),
        ("Tools", "[{'name': 'get'}, {'function': {'name': 'put'}}]", None),
    ],
)
def test_tools_are_shown_if_they_are_tools(
    name: str, tools: str, said: str | None, tmp_path: Path, monkeypatch: Any
) -> None:
    source = PLAIN_SOURCE.replace('return "hi", {}', f'return "hi", {{"tools": {tools}}}')
    (tmp_path / f"{name.lower()}.py").write_text(source.replace("{INFO}", "{}").replace("NAME", name))
    monkeypatch.syspath_prepend(tmp_path)
    shown = called("envs", "show", f"{name.lower()}:{name}-v0")
    assert shown.exit_code == (0 if said is None else 2) and "Traceback" not in shown.output
    assert (said or "tools: get, put") in shown.output
    watched = called("play", f"{name.lower()}:{name}-v0", "--agent", "random")
    assert watched.exit_code == shown.exit_code and (said or "tools: get, put") in watched.output
    assert checked(f"{name.lower()}:{name}-v0")[0] == (0 if said is None else 1)


def test_a_wrong_end_reason_is_answered_with_the_right_ones(tmp_path: Path, monkeypatch: Any) -> None:
    source = (ROOT / "examples" / "register_env.py").read_text().replace("CountDown-v0", "Won-v0")
    (tmp_path / "won_env.py").write_text(source.replace('"success" if', '"won" if'))
    monkeypatch.syspath_prepend(tmp_path)
    code, report = checked("won_env:Won-v0")
    (failed,) = [c for c in report["checks"] if c["name"] == "info"]
    assert code == 1
    assert "end_reason 'won'; it must be None or one of success, failure, max_steps" in failed["message"]


def test_play_watches_agents_of_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    won = called("play", EXAMPLE, "--agent", "oracle", "--task", "3").stdout
    assert "> 2" in won and "success (success), return 1" in won
    plain = called("play", UNREPORTED, "--agent", "random").stdout
    assert "Say the colour that you are shown." in plain and "over (terminated), return 0" in plain
    refused = called("play", UNREPORTED, "--agent", "oracle")
    assert refused.exit_code == 2 and "use 'random' or 'silent' instead" in refused.stderr


def test_the_plug_in_page_works_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "plugins.md").read_text()
    code, registration = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    groups = re.findall(r'```toml\n\[project\.entry-points\."(.*?)"\]\n(\w+) = "(.*?)"\n```', page)
    assert [group for group, _, _ in groups] == [
        "nlac_bench.envs",
        "nlac_bench.agents",
        "nlac_bench.algorithms",
    ]
    algorithm = groups.pop()  # that of examples/plugin, which tests/plugins installs
    example = tomllib.loads((ROOT / "examples" / "plugin" / "pyproject.toml").read_text())["project"]
    assert example["entry-points"][algorithm[0]][algorithm[1]] == algorithm[2]
    assert registration in (ROOT / "examples" / "plugin" / "nlac_bench_example" / "__init__.py").read_text()
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "echo.py").write_text(code)
    environment = (ROOT / "examples" / "register_env.py").read_text()
    (package / "count_down.py").write_text(environment.replace("CountDown-v0", "CountDownPlugin-v0"))
    described = tmp_path / "my_package-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    entries = "".join(f"[{group}]\n{name} = {value}\n" for group, name, value in groups)
    (described / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(tmp_path)
    assert "count_down  plug-in my_package.count_down:CountDown" in called("envs", "list").stdout
    watched = called("play", "count_down", "--agent", "echo", "--task", "3").stdout
    assert watched.count("> 3") == 12 and "no success (max_steps)" in watched


def test_play_watches_a_model() -> None:
    shown = called("play", "twenty_questions", "--agent", "nlac", "--seed", "1").stdout
    assert shown.count("> ") >= 1 and "success (" in shown
