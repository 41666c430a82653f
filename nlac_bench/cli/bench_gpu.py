"""``nlac-bench bench-gpu``: measure learner, weight pushes and rollout on this machine's GPUs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.api.exporting import refuse_records, write_file
from nlac_bench.cli.output import JsonFlag, console, errors, escape, print_json, table
from nlac_bench.cluster.gpu.device import Device
from nlac_bench.cluster.gpu.table import MEASUREMENTS, measure
from nlac_bench.errors import ConfigError


def bench_gpu(
    out: Annotated[Path, typer.Option(help="JSON file for the rows.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {', '.join(MEASUREMENTS)}; can be repeated. Default: all."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure learner, weight pushes and rollout on this machine's GPUs, beside their goals.

    Models have the shapes of Qwen2.5-7B and QwQ-32B and random weights, so that
    nothing is downloaded. One GPU trains as many layers of the 7B model as fit;
    torchrun starts the learner on several. A row that this machine cannot measure
    has no value; standard error says why. Pushes and rollout need vLLM.

    Examples:
      nlac-bench bench-gpu --out bench_gpu.json
      torchrun --nproc-per-node 8 -m nlac_bench bench-gpu --only learner \\
        --out bench_learner.json
    """
    if unknown := [name for name in only or () if name not in MEASUREMENTS]:
        raise ConfigError(f"--only {unknown[0]}: the measurements are {', '.join(MEASUREMENTS)}")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: the folder {out.parent} does not exist; create it first")
    if out.is_dir():
        raise ConfigError(f"--out {out}: this is a folder; choose the name of a file")
    refuse_records(out)
    device = Device.here()
    chosen = list(dict.fromkeys(only or MEASUREMENTS))
    if device.ranks > 1 and chosen != ["learner"]:
        raise ConfigError(
            f"torchrun started {device.ranks} ranks, which only the learner uses; add --only learner"
        )
    rows = measure(device, chosen, lambda line: errors.print(escape(line), soft_wrap=True))
    result = {"rows": [row.to_json() for row in rows]}
    if as_json:
        print_json(result)
    else:
        cells = [[row.name, row.value, row.unit, row.goal, row.device] for row in rows]
        console.print(table("bench-gpu", ["name", "value", "unit", "goal", "device"], cells))
    write_file(out, (json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode())
