"""Writes the commands of a plan as a script of bash: for one machine, or for SLURM on several.

``launch/node8.sh`` and ``launch/slurm.sbatch`` are the scripts of two of the paper's configurations.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

from nlac_bench.cluster.launch.plan import STOPPING_S, Command, Plan, PlannedServer, weights_folder

_BEGIN = """\
set -euo pipefail
mkdir -p {folders}
servers=()
finish() {{ # ends the servers; kills those that still run after a minute
  kill "${{servers[@]}}" 2>/dev/null || return 0
  for _ in {{1..60}}; do
    kill -0 "${{servers[@]}}" 2>/dev/null || return 0
    sleep 1
  done
  kill -KILL "${{servers[@]}}" 2>/dev/null || true
}}
trap finish EXIT
trap 'exit 143' INT TERM
"""
_WAIT = """\
for url in {urls}; do
  until curl --silent --fail --output /dev/null "$url/health"; do
    for pid in "${{servers[@]}}"; do
      kill -0 "$pid" 2>/dev/null || {{ echo "a server has ended; its output is in "{logs} >&2; exit 1; }}
    done
    if [ "$SECONDS" -gt {timeout} ]; then
      echo "$url does not answer after {timeout} s; its output is in "{logs} >&2
      exit 1
    fi
    sleep {pause}
  done
done
"""
_LEARN = """\
# A stop signal goes to the learner; the servers run as long as it does.
{command} &
learner=$!
trap 'kill -TERM "$learner" 2>/dev/null || true' INT TERM
while :; do
  code=0
  wait "$learner" || code=$?
  kill -0 "$learner" 2>/dev/null || exit "$code"
done
"""
_RAY = """\
until {python} -c 'import ray; ray.init(); exit(ray.cluster_resources().get("GPU", 0) < {gpus})'; do
    sleep 5
  done"""
PAUSE = 5
"""Seconds between two requests to a server that does not answer yet."""


def script(plan: Plan, pause: float = PAUSE) -> str:
    """Return a script that starts all processes of ``plan``, and ends the servers with the learner.

    Its exit code is that of the learner, or 1 if a server ends before all of them answer. A server that ends
    later does not end the run: the learner sends its requests to the others.
    """
    return "".join([*(_node if plan.settings.nodes == 1 else _slurm)(plan, pause)])


def _node(plan: Plan, pause: float) -> Iterator[str]:
    """Yield the parts of the script for one machine."""
    yield f"#!/usr/bin/env bash\n{_about(plan)}{_begin(plan)}\n"
    for number, server in enumerate(plan.servers):
        yield f"{server.command} >{shlex.quote(str(_log(plan, number, server)))} 2>&1 &\nservers+=($!)\n"
    yield f"\n{_wait(plan, pause)}\n{_LEARN.format(command=plan.learner)}"


def _slurm(plan: Plan, pause: float) -> Iterator[str]:
    """Yield the parts of the script for SLURM, in which each process is a step of the job."""
    settings = plan.settings
    options = {
        "job-name": "nlac-bench", "nodes": settings.nodes, "gpus-per-node": settings.gpus_per_node,
        "time": f"{settings.hours}:00:00", "mem": 0, "output": "slurm-%j.log",
        "signal": f"B:TERM@{STOPPING_S}",
    }  # fmt: skip
    yield "#!/usr/bin/env bash\n#SBATCH --exclusive\n"
    yield "".join(f"#SBATCH --{name}={value}\n" for name, value in options.items())
    yield f"{_about(plan)}# Submit it in a folder on a disk that all machines share.\n{_begin(plan)}\n"
    yield 'names=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))\n'
    yield "".join(f"export NODE{node}=${{names[{node}]}}\n" for node in range(settings.nodes))
    for number, server in enumerate(plan.servers):
        log = _log(plan, number, server)
        before = ""
        if server.ray:
            before = f"{_RAY.format(python=shlex.quote(settings.vllm_python), gpus=server.place.size)}; "
            before = f'export RAY_ADDRESS="{server.command.environment["RAY_ADDRESS"]}"; {before}'
        for node, ray in zip(server.place.nodes, server.ray, strict=False):
            yield f"\n{_step((node,), ray, log.with_suffix(f'.ray{node}.log'))} &\nservers+=($!)"
        yield f"\n{_step(server.place.nodes[:1], server.command, log, before)} &\nservers+=($!)"
    yield f"\n\n{_wait(plan, pause)}\n{_LEARN.format(command=_step(plan.place.nodes, plan.learner))}"


def _step(nodes: tuple[int, ...], command: Command, log: Path | None = None, before: str = "") -> str:
    """Return the command that runs ``command`` once on each of ``nodes``, in a shell that does ``before``."""
    names, count = ",".join(f"$NODE{node}" for node in nodes), len(nodes)
    output = "" if log is None else f" --output={shlex.quote(str(log))}"
    return (
        f'srun --overlap --nodes={count} --ntasks={count} --ntasks-per-node=1 --nodelist="{names}" '
        f"--cpu-bind=none --kill-on-bad-exit=1{output} \\\n"
        f"  bash -c {shlex.quote(f'{before}exec env {command}')}"
    )


def _about(plan: Plan) -> str:
    """Return comments that name the configuration of the script and the processes that it starts."""
    size = plan.settings.nodes * plan.settings.gpus_per_node
    slots = [server.slot for server in plan.servers]
    return (
        f"# Trains {shlex.quote(str(plan.config))} on {size} GPUs. {plan.place.size} of them learn;\n"
        f"# {slots.count('policy')} servers of slot policy and {slots.count('target')} of slot target "
        f"have {plan.servers[0].place.size} each.\n"
        "# nlac-bench and vLLM must be installed in the active environment.\n"
        "# Whoever reaches a server can replace its weights: use a private network.\n"
    )


def _begin(plan: Plan) -> str:
    folders = [plan.logs, weights_folder(plan.settings, plan.out)]
    return _BEGIN.format(folders=shlex.join(str(folder) for folder in folders if folder is not None))


def _wait(plan: Plan, pause: float) -> str:
    urls = " ".join(f'"{server.url}"' for server in plan.servers)
    logs, timeout = shlex.quote(str(plan.logs)), plan.settings.start_timeout
    return _WAIT.format(urls=urls, logs=logs, timeout=timeout, pause=f"{pause:g}")


def _log(plan: Plan, number: int, server: PlannedServer) -> Path:
    return plan.logs / f"server-{number}-{server.slot}.log"
