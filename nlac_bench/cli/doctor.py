"""``nlac-bench doctor``: what is installed, what works on this machine, and how to install the rest."""

import asyncio
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from typing import Annotated, Any

import typer

from nlac_bench import installed
from nlac_bench.agents.methods import BUILT_IN, Listed, all_methods
from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.agents.registry import PLUGIN_GROUP, plugin
from nlac_bench.cli.output import JsonFlag, console, escape, print_json, table
from nlac_bench.envs import foreign, registry
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.datasets import DATASETS, official_folder
from nlac_bench.envs.foreign import ForeignCodeError, bounded
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError, DataError, NlacBenchError, UnknownIdError
from nlac_bench.harness.measure.engines import local_model
from nlac_bench.rollout.engines.vllm import INSTALL_CPU, INSTALL_GPU
from nlac_bench.rollout.engines.vllm.http import Http
from nlac_bench.rollout.engines.vllm.plugin import BACKENDS
from nlac_bench.rollout.engines.vllm.server_check import Found, look

PACKAGES = {
    "gymnasium": "", "numpy": "", "sympy": "", "math-verify": "", "openai": "",
    "torch": "train", "transformers": "train", "peft": "train", "vllm": "vllm",
}  # fmt: skip

SERVER_S = 60.0
"""Time limit for each request to a server; the first ``/server_info`` takes seconds."""
_RENAME = "rename the entry point"
_PLUGIN_FIX = "fix or uninstall the package that provides it"
_VLLM_FIX = INSTALL_GPU if shutil.which("nvidia-smi") else INSTALL_CPU


def doctor(
    as_json: JsonFlag = False,
    server: Annotated[
        str | None, typer.Option(help="Check whether this vLLM server can be used in --servers, as URL.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Try what runs need from this OpenAI-compatible server, in about ten requests."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model that --server or --base-url must serve; alone, a folder or name of a model to "
            "check on this machine."
        ),
    ] = None,
    weights_by: Annotated[
        str, typer.Option(help="How --server will get weights: file, or nccl; see run --help.")
    ] = "file",
) -> None:
    """List what is installed, what works on this machine, and how to install the rest.

    API keys are never printed, only the names of the variables that are set.
    With --server, --base-url or --model the exit code is 1 if the server or the
    model cannot be used.

    Examples:
      nlac-bench doctor
      nlac-bench doctor --model smollm2
      nlac-bench doctor --base-url http://localhost:8000/v1 --model NAME
      nlac-bench doctor --server http://10.0.0.5:8000 --model Qwen/Qwen2.5-7B
    """
    if server is not None and base_url is not None:
        raise ConfigError("--server and --base-url cannot be used together; leave out one")
    if base_url is not None:
        from nlac_bench.cli.doctor_server import check_server  # openai takes a second to import

        check_server(base_url, model, as_json)
        return
    if server is not None:
        _check_server(server, model, weights_by, as_json)
        return
    if weights_by != "file":
        raise ConfigError("--weights-by is a setting for a server; add --server URL, or leave it out")
    if model is not None:
        from nlac_bench.cli.doctor_model import check_model

        check_model(model, as_json)
        return
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": [_package(name, extra) for name, extra in PACKAGES.items()],
        "engines": [_openai(), _hf(), _vllm()],
        "agents": [_agent(name) for name in (*FLOORS, *PROMPTED)] + _agent_plugins(),
        "algorithms": [_algorithm(listed) for listed in all_methods()],
        "environments": [_environment(name) for name in registry.BUILTIN] + _environment_plugins(),
        "data": [_data(name) for name in DATASETS],
    }
    if as_json:
        print_json(report)
        return
    console.print(f"Python {report['python']}")
    for section in ("packages", "engines", "agents", "algorithms", "environments", "data"):
        rows = [[r["name"], _status(section, r), r["detail"], r["fix"]] for r in report[section]]
        console.print(table(section, ["name", "status", "detail", "fix"], rows))


def _check_server(url: str, model: str | None, weights_by: str, as_json: bool) -> None:
    """Print whether a vLLM server can be a replica; exit with code 1 if it cannot."""
    way = next((each for each in BACKENDS if each == weights_by), None)
    if way is None:
        raise ConfigError(f"--weights-by must be {' or '.join(BACKENDS)}, got {weights_by!r}")
    http = Http(url, SERVER_S)

    async def asked() -> Found:
        try:
            return await look(http, None if model is None else local_model(model), way)
        finally:
            await http.close()

    server = asyncio.run(asked())
    ok = not server.problems
    if as_json:
        print_json(
            {
                "ok": ok,
                "version": server.version,
                "weights_by": list(server.weights_by),
                "problems": list(server.problems),
            }
        )
    else:
        console.print(f"{escape(url)}: {'ok' if ok else 'cannot be used'}, vLLM {server.version or '?'}")
        if server.weights_by:
            console.print(f"It takes weights by: {', '.join(server.weights_by)}")
        for problem in server.problems:
            console.print(f"- {escape(problem)}", soft_wrap=True)
    if not ok:
        raise typer.Exit(1)


def _status(section: str, row: dict[str, object]) -> str:
    """Return the word for ``row`` in the table; an engine without a detail is not installed."""
    absent = section in ("packages", "data") or (section == "engines" and not row["detail"])
    return "ok" if row["ok"] else "missing" if absent else "broken"


def _row(name: str, ok: bool, detail: str, fix: str = "") -> dict[str, object]:
    return {"name": name, "ok": ok, "detail": detail, "fix": "" if ok else fix}


def _version(name: str) -> str | None:
    # vLLM for CPUs is a separate distribution.
    for distribution in (name, f"{name}-cpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _package(name: str, extra: str) -> dict[str, object]:
    version = _version(name)
    fix = f"pip install 'nlac-bench[{extra}]'" if extra else "pip install nlac-bench"
    if name == "vllm":
        fix = _VLLM_FIX
    return _row(name, version is not None, version or "", fix)


def _openai() -> dict[str, object]:
    keys = [key for key in ("OPENAI_API_KEY", "NLAC_BENCH_API_KEY") if os.environ.get(key)]
    detail = f"API keys in {', '.join(keys)}" if keys else "no API key is set, which some servers do not need"
    return _row("openai", True, detail)


def _hf() -> dict[str, object]:
    if _version("torch") is None or _version("transformers") is None:
        return _row("hf", False, "", "pip install 'nlac-bench[train]'")
    import torch

    if torch.cuda.is_available():
        return _row("hf", True, f"{torch.cuda.device_count()} GPU: {torch.cuda.get_device_name()}")
    from nlac_bench.rollout.engines.hf.precision import fast_bf16

    faster = "bf16" if fast_bf16() else "float32"
    return _row("hf", True, f"CPU, computes in {faster}, {torch.get_num_threads()} threads")


def _vllm() -> dict[str, object]:
    if importlib.util.find_spec("vllm") is None:
        return _row("vllm", False, "", _VLLM_FIX)
    # Importing takes many seconds and may abort the process, so it is done in another process.
    command = [sys.executable, "-P", "-c", "import vllm"]  # -P: not from the current folder
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    works = done.returncode == 0
    fix = "uninstall torchvision, torchaudio and torchcodec if they are builds for another torch"
    return _row("vllm", works, (_version("vllm") or "") if works else last, fix)


def _agent(name: str) -> dict[str, object]:
    return _row(name, True, "uses no model" if name in FLOORS else "needs --model")


def _agent_plugins() -> list[dict[str, object]]:
    """Rows for the agents of other packages; the detail of one that cannot be imported is the reason."""
    rows = []
    for point in installed.entry_points(PLUGIN_GROUP):
        if point.name in (*FLOORS, *PROMPTED, *BUILT_IN):
            rows.append(
                _row(point.name, False, f"plug-in {point.value}: a built-in agent has this name", _RENAME)
            )
            continue
        try:
            plugin(point)
        except UnknownIdError as error:
            rows.append(_row(point.name, False, str(error), _PLUGIN_FIX))
        else:
            rows.append(_row(point.name, True, f"plug-in {point.value}"))
    return rows


def _algorithm(listed: Listed) -> dict[str, object]:
    if listed.method is None:
        return _row(listed.name, False, listed.error, listed.fix)
    try:
        listed.method.config({})
        _ = listed.method.algorithm_class
    except (NlacBenchError, ImportError) as error:
        fix = "pip install 'nlac-bench[train]'" if listed.origin == "built-in" else _PLUGIN_FIX
        return _row(listed.name, False, f"{type(error).__name__}: {error}", fix)
    method = listed.method
    about = {"paper": method.paper, "off_policy": method.off_policy, "needs": method.needs}
    return _row(listed.name, True, f"{listed.origin}: {method.summary}") | about


def _environment(name: str) -> dict[str, object]:
    try:
        env = registry.make_text_env(name)
        env.reset(seed=0)
    except (NlacBenchError, ImportError, OSError) as error:
        return _row(name, False, str(error), f"nlac-bench envs check {name}")
    return _row(name, True, _tasks(env))


def _tasks(env: TextEnv) -> str:
    return f"{len(env.task_ids)} {env.source.kind} tasks in split {env.split!r}"


def _environment_plugins() -> list[dict[str, object]]:
    """Rows for the environments of other packages, each of which is made and reset once."""
    rows = []
    for point in installed.entry_points(registry.PLUGIN_GROUP):
        what = f"plug-in {point.value}"
        try:
            if registry.find(point.name).env_id is not None:
                rows.append(_row(point.name, False, f"{what}: a built-in environment has this name", _RENAME))
                continue
        except UnknownIdError as error:
            rows.append(_row(point.name, False, str(error), _PLUGIN_FIX))
            continue
        try:
            made = bounded(lambda name=point.name: _made(name), foreign.LOAD_S)  # type: ignore[misc]
        except ForeignCodeError as error:
            reason = error.__cause__ if isinstance(error.__cause__, NlacBenchError) else error
            rows.append(_row(point.name, False, f"{what}: {reason}", f"nlac-bench envs check {point.name}"))
        else:
            rows.append(_row(point.name, True, f"{what}: {made}"))
    return rows


def _made(name: str) -> str:
    """Make the environment ``name``, reset it, and return its detail for the list."""
    env = registry.make_text_env(name)
    try:
        env.reset(seed=0)
        return "a plain Gymnasium environment" if isinstance(env, PlainEnv) else _tasks(env)
    finally:
        env.close()


def _data(name: str) -> dict[str, object]:
    try:
        return _row(name, True, str(official_folder(name)))
    except DataError:
        return _row(name, False, DATASETS[name].note, DATASETS[name].fetch)
