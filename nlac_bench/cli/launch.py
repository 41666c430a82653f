"""``nlac-bench launch``: start a training run on many GPUs, or print the commands that do."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.api.configure import completed
from nlac_bench.cli.exit_codes import incomplete
from nlac_bench.cli.output import JsonFlag, errors, escape, print_json
from nlac_bench.cli.streams import result_stream
from nlac_bench.cluster.launch import start
from nlac_bench.cluster.launch.plan import Plan, plan
from nlac_bench.cluster.launch.scripts import script
from nlac_bench.cluster.launch.settings import LaunchSettings
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.harness.runs.trust import refuse_unrepeated


def launch(
    config: Annotated[Path, typer.Option(help="A TOML file of a training run, or a run's config.json.")],
    gpus: Annotated[
        int | None, typer.Option(min=1, help="One machine with N GPUs, instead of the machines of the file.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="N machines of SLURM, instead of those of the file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; default: runs/ and the name of the file.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the script, or with --json its commands; start nothing.")
    ] = False,
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTIONS]", help="Options of `nlac-bench run`, if the run is a new one."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Start a training run on many GPUs: vLLM servers that sample, and ranks of torchrun that learn.

    The table \\[launch] of the file says how the GPUs are divided. On one machine,
    the command runs until the training ends, and FOLDER-logs has the outputs of
    the servers. On several machines, it submits a job to SLURM. The same command
    continues an interrupted run.

    Examples:
      nlac-bench launch --config configs/paper/tau_retail_qwen2.5-7b.toml \\
        --gpus 8 --dry-run
      nlac-bench launch --config configs/paper/tau_retail_qwen2.5-7b.toml \\
        --gpus 8 -- --user-model NAME --user-base-url URL
      nlac-bench launch --config configs/paper/tau_retail_qwq-32b.toml \\
        --dry-run > job.sbatch
    """
    values = read_config(config)
    if config.suffix == ".json":  # of a run that may come from somebody else
        refuse_unrepeated({"agent": values.get("agent")}, {}, config, "write a TOML file with")
    settings = LaunchSettings.read(config, gpus=gpus, nodes=nodes)
    resolved = completed(values, False, str(config))
    planned = plan(config, resolved, settings, out, options or [])
    text = script(planned)
    if dry_run:
        if as_json:
            print_json(planned.to_json())
        else:
            result_stream().write(text)
        return
    if settings.nodes > 1:
        answer = start.submit(planned, text)
        if as_json:
            print_json(planned.to_json() | {"submitted": answer})
        else:
            errors.print(escape(answer), soft_wrap=True)
        return
    start.check_gpus(settings.gpus_per_node)
    errors.print(f"outputs of the servers: {escape(str(planned.logs))}", soft_wrap=True)
    _end(planned, start.run(text), gpus, as_json)


def _end(planned: Plan, code: int, gpus: int | None, as_json: bool) -> None:
    """Print what the script's exit ``code`` means, and exit with 3 if the run can be continued."""
    begun = (planned.out / "manifest.json").exists()
    if as_json and (code == 0 or begun):
        print_json(planned.to_json() | {"exit_code": code})
    if code == 0:
        return
    again = ["nlac-bench", "launch", "--config", str(planned.config), "--out", str(planned.out)]
    again += [] if gpus is None else ["--gpus", str(gpus)]
    if begun:
        raise incomplete(f"the script ended with exit code {code}", shlex.join(again))
    raise NlacBenchError(
        f"the script ended with exit code {code} before the run began; the outputs of the servers are in "
        f"{planned.logs}"
    )
