"""Settings that would have no effect: refused where a user writes them, ignored where a run has them stored.

``kept_runs.jsonl`` has configuration and subject of a run of each method, of a version in which SAC, NLRL and
the ablations had all settings of NLAC.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.methods import BUILT_IN, effective
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.harness.runs.seeds import Planned
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.sweep.file import check_sweep, read_sweep
from tests.cli.command import call

LINES = (Path(__file__).with_name("kept_runs.jsonl")).read_text().splitlines()
KEPT: dict[str, Any] = {row["config"]["agent"]: row for row in map(json.loads, LINES)}
WITHOUT_EFFECT = {
    "sac": {"num_nlq_samples", "num_refinement_steps", "refine_source", "backup_by", "shuffle_critiques",
            "improvement_temperature", "probes", "kept_critiques", "probe_states", "probe_playouts"},
    "nlrl": {"num_nlq_samples", "num_refinement_steps", "refine_source", "backup_by", "shuffle_critiques",
             "ema_tau", "replay_ratio", "priority_alpha", "priority_beta", "probe_playouts"},
    "nlql": {"num_refinement_steps", "refine_source", "shuffle_critiques"},
    "self_distillation": {"num_nlq_samples", "refine_source", "replay_ratio", "priority_alpha",
                          "priority_beta"},
}  # fmt: skip


def test_there_is_one_of_each_method() -> None:
    assert KEPT.keys() == BUILT_IN.keys()


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_stored_run_is_read_without_the_settings_of_other_methods(name: str) -> None:
    stored = KEPT[name]["config"]
    ignored = stored["train"].keys() - effective(stored)["train"].keys()
    assert ignored == WITHOUT_EFFECT.get(name, set())
    settings = RunConfig.from_stored(stored, "config.json").train
    assert settings is not None
    read = settings.as_dict()
    assert all(read[n] == value for n, value in stored["train"].items() if n not in ignored)
    if ignored:
        with pytest.raises(ConfigError, match="would have no effect with"):
            RunConfig.from_mapping(stored, "run.toml")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_stored_run_is_continued_unless_its_method_has_new_settings(name: str, tmp_path: Path) -> None:
    stored, conditions, plan = KEPT[name], {"env": "demo"}, [Planned("t", 0, 0)]
    RunWriter.create(
        tmp_path, config=stored["config"], conditions=conditions, subject=stored["subject"], plan=plan
    ).close()
    settings = RunConfig.from_stored(stored["config"], "config.json").train
    assert settings is not None
    now = {**stored["subject"], "train": settings.subject()}
    added = settings.subject().keys() - stored["subject"]["train"].keys()
    new = [name for name in added if getattr(settings, name) is not None]
    if new:
        with pytest.raises(RunFolderError) as refused:
            RunWriter.resume(tmp_path, conditions=conditions, subject=now, plan=plan)
        assert all(f"train.{n}" in str(refused.value) for n in new)
        assert not any(f"train.{n}" in str(refused.value) for n in WITHOUT_EFFECT.get(name, ()))
    else:
        RunWriter.resume(tmp_path, conditions=conditions, subject=now, plan=plan).close()


def test_a_runs_configuration_file_is_a_stored_run(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(KEPT["sac"]["config"]))
    assert "refine_source" in read_config(path)["train"], "a file that a user wrote"
    (tmp_path / "manifest.json").write_text("{}")
    assert "refine_source" not in read_config(path)["train"]


@pytest.mark.parametrize(
    ("agent", "setting", "having"),
    [
        ("sac", "num_nlq_samples=7", "one of the settings of nlac, nlql"),
        ("nlrl", "replay_ratio=2", "one of the settings of nlac, sac, archer, nlql"),
        ("nlql", "shuffle_critiques=true", "one of the settings of nlac, self_distillation"),
        ("self_distillation", "refine_source=fresh", "a setting of nlac"),
        ("archer", "alpha=1", "a setting of sac"),
        ("pacs", "clip_ratio=0.1", "one of the settings of ppo, grpo, drlc, critique_rl"),
        ("agent_prm", "critic_steps=1", "a setting of archer"),
        ("drlc", "num_alternatives=2", "a setting of early_experience"),
        ("early_experience", "num_critiques=2", "a setting of critique_rl"),
        ("critique_rl", "verdict_coef=1", "a setting of drlc"),
        ("rft", "gae_lambda=1", "one of the settings of ppo, drlc"),
    ],
)
def test_a_setting_of_another_method_is_refused(agent: str, setting: str, having: str) -> None:
    run = ("run", "--env", "tau_retail", "--dry-run", "--agent", agent, "--train", setting)
    refused = call(*run)
    assert refused.returncode == 2 and not refused.stdout
    said = " ".join(refused.stderr.split())
    assert f"train.{setting.partition('=')[0]} would have no effect with {agent}: it is {having}" in said


def test_files_that_users_write_are_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('env = "tau_retail"\nagent = "sac"\n[train]\nprobes = 3\n')
    refused = call("run", "--config", str(path), "--dry-run")
    assert refused.returncode == 2 and "train.probes would have no effect with sac" in refused.stderr
    path.write_text('methods = ["nlac", "rft"]\n[seeds]\ntau_retail = [0]\n[train]\nprobes = 3\n')
    with pytest.raises(ConfigError, match=r"rft: train\.probes would have no effect with rft"):
        check_sweep(read_sweep(path))
