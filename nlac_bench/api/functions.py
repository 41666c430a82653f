"""The functions of the Python API. Their settings are the options of ``nlac-bench run``."""

import functools
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from nlac_bench.api.callers import CalledAgent, called_agent
from nlac_bench.api.comparing import RunsComparison, compare_sides
from nlac_bench.api.configure import completed, gathered
from nlac_bench.api.console import errors, escape
from nlac_bench.api.run_files import write_run_files
from nlac_bench.api.runs import Run
from nlac_bench.api.session import play_run, resume_command, start
from nlac_bench.api.signature import Work, awaitable, blocking
from nlac_bench.api.threads import StoppableLoop
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs import named_agents
from nlac_bench.learner import torchrun

PathText: TypeAlias = str | PathLike[str]
OneRun: TypeAlias = Run | PathText
"""A run, or its folder."""


def _evaluate(
    env: str,
    *,
    agent: object,
    out: PathText | None = None,
    config: PathText | None = None,
    request: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Work:
    """Measure ``agent`` on ``env`` as ``nlac-bench eval`` does, and return the run.

    Progress goes to standard error. A run that ends incomplete is returned too; a message says how to
    continue it. Where an event loop runs already, as in a notebook, the run has a thread and a loop of its
    own. ``aevaluate`` is the coroutine function: the caller's loop goes on, and cancelling it stops the run.

    Args:
        env: a name, a Gymnasium id, or ``Name@{json}``.
        agent: the name of an agent; the name or folder of a model; a transformers model; a trained ``Run``;
            an object with ``begin(env, seed)``; or a function that gets the messages of a chat and returns
            the reply, which may be a coroutine function.
        out: folder of the run; by default a new one in ``runs/``.
        config: a TOML file of settings, or a run's ``config.json``; other settings override it.
        request: further fields of each request to the server of ``model``.
        settings: options of ``nlac-bench run``, listed below.

    Raises:
        NlacBenchError: a setting is wrong, something is missing, or the run cannot go on.
        KeyboardInterrupt: Ctrl-C; what was played is in the run's folder.
    """
    return functools.partial(
        _run, "evaluate()", env, called_agent(agent), out, config, settings, request=request
    )


def _train(
    env: str,
    *,
    method: str | None = None,
    out: PathText | None = None,
    config: PathText | None = None,
    train: Mapping[str, Any] | None = None,
    budget: str | None = None,
    replay_ratio: float | None = None,
    request: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Work:
    """Train a model on ``env`` as ``nlac-bench run`` does, and return the run.

    The untrained model is measured first (``load(run.path / "base")``), and the best checkpoint at last.
    ``atrain`` is the coroutine function.

    Args:
        env: as in ``evaluate``, like ``out``, ``config``, ``request`` and ``settings``.
        method: the name of a training method, or ``module:object``; by default the ``agent`` of ``config``,
            or else nlac.
        train: training settings by name; ``nlac-bench run --help`` lists them.
        budget: ``steps=N`` (gradient steps), ``env_steps=N`` or ``tokens=N``.
        replay_ratio: number of transitions to learn from for each new one.

    Raises:
        NlacBenchError, KeyboardInterrupt: as ``evaluate``.
    """
    if "agent" in settings:
        raise ConfigError("train() has no setting 'agent'; name the training method as method")
    return functools.partial(
        _run, "train()", env, CalledAgent(method), out, config, settings,
        request=request, train=train or {}, budget=budget, replay_ratio=replay_ratio,
    )  # fmt: skip


evaluate, aevaluate = blocking(_evaluate), awaitable(_evaluate)
train, atrain = blocking(_train), awaitable(_train)


def compare(
    *sides: OneRun | Sequence[OneRun], metric: str = "success", common: bool = False
) -> RunsComparison:
    """Compare runs task by task, with 95 % intervals and a verdict, as ``nlac-bench compare`` does.

    Args:
        sides: two runs or more; a list of runs is the seeds of an algorithm, compared with another list.
        metric: ``success`` or ``reward``.
        common: compare the tasks that all runs have, instead of refusing runs whose tasks differ.

    Raises:
        NlacBenchError, ValueError: as ``compare_sides``.
    """
    listed = [[side] if isinstance(side, Run | str | PathLike) else side for side in sides]
    return compare_sides([[fspath(run) for run in side] for side in listed], metric=metric, common=common)


def _run(
    caller: str,
    env: str,
    agent: CalledAgent,
    out: PathText | None,
    config: PathText | None,
    settings: Mapping[str, Any],
    loop: StoppableLoop,
    *,
    request: Mapping[str, Any] | None,
    train: Mapping[str, Any] | None = None,
    **shorthands: Any,
) -> Run:
    """Make and play a run; it is trained if ``train`` is not None."""
    if torchrun.world_size() > 1:
        raise ConfigError(f"{caller} runs in one process; start `torchrun … -m nlac_bench run` for several")
    if both := sorted(agent.settings.keys() & settings.keys()):
        raise ConfigError(f"{caller}: agent names a model, and so does {both[0]}; leave out {both[0]}")
    options = {name: fspath(x) if isinstance(x, PathLike) else x for name, x in settings.items()}
    merged = gathered(
        {**options, **agent.settings, "env": env, "agent": agent.name},
        config=None if config is None else Path(config),
        train=train,
        request=request,
        **shorthands,
    )
    if train is not None:
        named_agents.method(str(merged.setdefault("agent", "nlac")))  # refuses an agent that is not trained
    resolved = completed(merged, measure_only=train is None, source=caller)
    prepared, writer = start(resolved, None if out is None else Path(out), agent.make)
    with writer:
        played = loop.run(play_run(prepared, writer))
        folder = writer.folder
        if played.reportable:
            write_run_files(prepared, folder.path, curve=played.training is not None)
    if played.incomplete is not None:
        again = f"; continue with: {resume_command(folder)}" if prepared.registered else ""
        errors.print(escape(f"{played.incomplete}{again}"), soft_wrap=True)
    if played.interrupted:
        raise KeyboardInterrupt
    return Run(folder.path)
