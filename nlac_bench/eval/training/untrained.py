"""The untrained model's run that a training run is compared with, when it is taken from an earlier one."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.eval.measure.prepare import Prepared
from nlac_bench.eval.runs import manifest as manifests
from nlac_bench.eval.runs.configuration import ConfigError
from nlac_bench.eval.runs.folder import RunFolder

BASE = "base"
"""Its folder within the training run's."""

_ANYONE = ("agent", "train", "offline")  # the policy's prompt is the same whoever will train it


def check_base(prepared: Prepared) -> None:
    """Whether the run that ``--base`` names measured what this run begins with.

    Raises:
        ConfigError: it is not finished, or had other tasks, seeds, conditions or another model: each
            difference is named.
    """
    path = prepared.config.base
    if path is None:
        return
    base = RunFolder.open(path)
    if owed := len(base.owed()):
        raise ConfigError(f"--base: {path} still owes {owed} episodes; nlac-bench resume {path}")
    then = {"conditions": base.conditions, "subject": _begins(base.subject)}
    changed = manifests.differences(
        then, {"conditions": prepared.conditions, "subject": _begins(prepared.subject)}
    )
    if base.plan != tuple(prepared.plan):
        changed.append("its tasks, trials or seeds")
    if base.subject.get("train") is not None:
        changed.append("train: it is a training run, not one of the model before")
    if changed:
        raise ConfigError(f"--base: {path} measured something else: " + "; ".join(changed))


def take_base(path: Path, folder: Path) -> None:
    """Copy the run in ``path`` into the training run's ``folder``, which is whole without it from then on."""
    part = folder / f"{BASE}.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(path, part, ignore=shutil.ignore_patterns(".lock"))
    part.replace(folder / BASE)


def _begins(subject: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in subject.items() if key not in _ANYONE}
