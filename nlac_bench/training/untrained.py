"""Checks and copies an earlier run of the untrained model (``--base``) for a training run."""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from nlac_bench.files import replace_folder
from nlac_bench.harness.measure.prepare import Prepared
from nlac_bench.harness.measure.training_tasks import VALIDATION_SPLIT
from nlac_bench.harness.runs import manifest as manifests
from nlac_bench.harness.runs.configuration import ConfigError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.links import refuse_links
from nlac_bench.harness.runs.secrets import refuse_known_secrets

BASE = "base"
"""Name of the untrained model's folder within the training run's folder."""

_ANYONE = ("agent", "train", "offline", VALIDATION_SPLIT)  # all training methods use the same policy prompt


def check_base(prepared: Prepared) -> None:
    """Check that the run that ``--base`` names measured the model, tasks and seeds that this run starts with.

    Raises:
        ConfigError: the run is unfinished, its configuration contains a secret, or its tasks, seeds,
            conditions or model differ; the message lists each difference.
        RunFolderError: its folder contains a link.
    """
    path = prepared.config.base
    if path is None:
        return
    base = RunFolder.open(path)
    refuse_links(base.path)  # copying it would copy the files that they point to
    refuse_known_secrets(base.config, f"--base: {path}/config.json: ")  # its files are copied
    if owed := len(base.owed()):
        raise ConfigError(f"--base: {path} lacks {owed} episodes; finish it with `nlac-bench resume {path}`")
    # The best of N is chosen by what the method declares, so the base is the method's own.
    anyone = _ANYONE[1:] if prepared.config.best_of else _ANYONE
    then = {"conditions": base.conditions, "subject": _begins(base.subject, anyone)}
    changed = manifests.differences(
        then, {"conditions": prepared.conditions, "subject": _begins(prepared.subject, anyone)}
    )
    if base.plan != tuple(prepared.plan):
        changed.append("tasks, trials or seeds")
    if base.subject.get("train") is not None:
        changed.append("train: it is a training run, not an `eval` of the untrained model")
    if changed:
        raise ConfigError(
            f"--base: {path} does not match this run ({'; '.join(changed)}); use a matching `eval`, or leave "
            "out --base to measure the untrained model again"
        )


def take_base(path: Path, folder: Path) -> None:
    """Copy the run in ``path`` into the training run's ``folder``, which then no longer depends on it."""
    part = folder / f"{BASE}.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(path, part, ignore=shutil.ignore_patterns(".lock"))
    replace_folder(part, folder / BASE)


def _begins(subject: Mapping[str, object], anyone: Collection[str]) -> dict[str, object]:
    return {key: value for key, value in subject.items() if key not in anyone}
