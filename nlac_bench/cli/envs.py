"""``nlac-bench envs`` and ``play``: list, show, check and play environments."""

import asyncio
import contextlib
import inspect
import json
import sys
import warnings
from typing import Annotated, Any

import gymnasium
import typer
from rich.padding import Padding
from rich.panel import Panel

from nlac_bench.cli.output import JsonFlag, console, errors, escape, escape_lines, print_json, table
from nlac_bench.envs import registry
from nlac_bench.envs.adapter import require_text
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.returned import check_info
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError
from nlac_bench.rollout.agent import begun
from nlac_bench.types import Info

app = typer.Typer(no_args_is_help=True)
EnvName = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Name of a built-in environment or of a plug-in, or a Gymnasium id (my_pkg:MyEnv-v0); "
        """with arguments: 'tau_retail@{"split": "train"}'.""",
    ),
]


def _describe(entry: registry.EnvEntry) -> dict[str, Any]:
    env = registry.construct(entry, {}).unwrapped
    description: dict[str, Any] = {
        "name": entry.name,
        "id": entry.env_id,
        "origin": entry.origin,
        "summary": (inspect.getdoc(type(env)) or "").split("\n", 1)[0],
    }
    if isinstance(env, TextEnv):
        description |= {
            "version": env.env_version,
            "split": env.split,
            "tasks": len(env.task_ids),
            "max_steps": env.max_steps,
            "data_source": env.source.kind,
            "data_sha256": env.source.sha256,
        }
    return description


def _with_arguments(name: str) -> dict[str, str]:
    """Describe an environment that is not made here, because it needs arguments or another package."""
    summary = (inspect.getdoc(registry.find(name).make) or "").split("\n", 1)[0]
    return {"name": name, "summary": summary}


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the built-in environments and those of installed plug-ins."""
    entries = [registry.find(name) for name in registry.BUILTIN] + list(registry.iter_plugins())
    rows = []
    for entry in entries:
        try:
            rows.append(_describe(entry))
        except Exception as error:  # one broken plug-in must not hide the others
            if entry.origin == "built-in":
                raise
            warnings.warn(
                f"environment {entry.name!r} of {entry.origin} is skipped, because making it failed: {error}",
                stacklevel=2,
            )
    others = [_with_arguments(name) for name in registry.BUILTIN_WITH_ARGUMENTS]
    if as_json:
        print_json({"environments": rows, "with_arguments": others})
        return
    for row in rows:
        console.print(f"[bold]{escape(row['name'])}[/bold]  {escape(row['id'] or row['origin'])}")
        if "tasks" in row:
            console.print(
                f"  {row['tasks']:,} {escape(row['split'])} tasks ({escape(row['data_source'])} data), "
                f"step limit {row['max_steps']}"
            )
        console.print(Padding(escape_lines(row["summary"]), (0, 0, 0, 2)))
    for row in others:
        console.print(f"[bold]{escape(row['name'])}[/bold]  {escape(row['name'])}@{{json}}")
        console.print(Padding(escape_lines(row["summary"]), (0, 0, 0, 2)))
    console.print("For rules, arguments and a first observation: nlac-bench envs show NAME")


@app.command()
def show(
    name: EnvName,
    world: Annotated[
        int | None, typer.Option(help="The world to show, of an environment that has several.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show an environment's rules, arguments, data, tools and a first observation.

    If the environment has worlds, as shop_worlds has, also show the world, its
    procedures, and whether it is held out. Agents do not see these.
    """
    env = registry.make(name) if world is None else _in_world(name, world)
    require_text(env, name)
    raw = env.unwrapped
    observation, info = env.reset(seed=0)
    check_info(info)
    signature = inspect.signature(type(raw).__init__)
    arguments = {
        p.name: None if p.default is p.empty else _plain(p.default)
        for p in list(signature.parameters.values())[1:]
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    entry = registry.find(parse(name)[0])
    described = {
        "name": entry.name,
        "id": entry.env_id,
        "origin": entry.origin,
        "doc": inspect.getdoc(type(raw)) or "",
        "arguments": arguments,
        "observation_space": repr(raw.observation_space),
        "action_space": repr(raw.action_space),
        "tasks": len(raw.task_ids) if isinstance(raw, TextEnv) else None,
        "splits": list(raw.splits) if isinstance(raw, TextEnv) else None,
        "tools": [tool.get("function", tool).get("name") for tool in info.get("tools", ())],
        "policy": info.get("policy", ""),
        "data_source": info.get("data_source"),
        "data_sha256": info.get("data_sha256"),
        "observation": observation,
    }
    if isinstance(raw, TextEnv) and "unknowns" in (conditions := raw.conditions()):
        described["unknowns"] = conditions["unknowns"]
    played = raw.describe_world() if isinstance(raw, TextEnv) else {}
    described |= played
    if as_json:
        print_json(described)
        return
    console.print(
        f"[bold]{escape(str(described['name']))}[/bold]  {escape(str(described['id']))}", soft_wrap=True
    )
    console.print(escape_lines(described["doc"]))
    shown = {**described, "splits": ", ".join(described["splits"] or ())}
    rows = [
        [key, shown[key]]
        for key in (
            "origin", "observation_space", "action_space", "splits", "tasks", "data_source", "data_sha256",
        )
    ]  # fmt: skip
    rows += [[key, json.dumps(value)] for key, value in played.items()]
    console.print(table("", ["", "value"], rows))
    console.print(table("arguments", ["name", "default"], [[k, json.dumps(v)] for k, v in arguments.items()]))
    if described["tools"]:
        console.print(escape("tools: " + ", ".join(described["tools"])))
    if described["policy"]:
        console.print(Panel(escape_lines(described["policy"]), title="what the agent is told"))
    console.print(
        Panel(escape_lines(observation), title=f"first observation, task {escape(str(info.get('task_id')))}")
    )


def _in_world(name: str, world: int) -> gymnasium.Env[str, str]:
    """Make the environment in ``world``; raise ConfigError if it has no worlds."""
    try:
        return registry.make(name, world=world)
    except registry.EnvArgumentsError as error:
        if "'world'" not in str(error):
            raise
        made = {each: registry.make(each).unwrapped for each in registry.BUILTIN}
        several = [each for each, env in made.items() if isinstance(env, TextEnv) and env.describe_world()]
        raise ConfigError(
            f"--world {world}: {parse(name)[0]} has no worlds; of the built-in environments "
            f"{', '.join(several)} has them. Leave out --world, or name an environment with worlds"
        ) from error


def _plain(value: object) -> object:
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


@app.command()
def check(name: EnvName, as_json: JsonFlag = False) -> None:
    """Test an environment against the contract of text environments.

    The exit code is 0 when every check passes, 1 when one fails, and 2 when ID is
    unknown or its arguments are wrong. Warnings do not change the exit code. With
    --json, "ok" of a check is true, false, or null where it does not apply.

    Examples:
      nlac-bench envs check tau_retail
      nlac-bench envs check my_pkg:MyEnv-v0
    """
    from nlac_bench.envs import conformance
    from nlac_bench.harness.measure.stored_episode import stored_episode

    entry_name, config = parse(name)
    entry = registry.find(entry_name)
    if config:  # arguments that the constructor does not accept are bad input, not a check that fails
        registry.construct(entry, config).close()

    def make_env(**kwargs: object) -> gymnasium.Env[str, str]:
        return registry.construct(entry, {**config, **kwargs})

    with contextlib.redirect_stdout(sys.stderr):  # what the environment prints is not part of the result
        results = conformance.check(make_env, env_id=entry.env_id, kwargs=config)
        ended = not any(result.passed is None and "did not end" in result.detail for result in results)
        advice = conformance.advise(make_env) if ended else []
        results += [stored_episode(name)] if ended else []
    holds = all(result.passed is not False for result in results)
    if as_json:
        rows = [
            {"name": r.name, "ok": r.passed, "message": r.detail, "passed": r.passed, "detail": r.detail}
            for r in results
        ]
        print_json({"env": name, "holds": holds, "ok": holds, "checks": rows, "warnings": advice})
    else:
        words = {True: "ok", False: "FAILED", None: "not applicable"}
        console.print(
            table(
                f"conformance of {name}",
                ["check", "result", "detail"],
                [[r.name, words[r.passed], r.detail] for r in results],
            )
        )
        for text in advice:
            console.print(f"[yellow]warning:[/yellow] {escape(text)}", soft_wrap=True)
    raise typer.Exit(0 if holds else 1)


def play(
    name: EnvName,
    agent: Annotated[
        str,
        typer.Option(help="'you' to type the actions yourself, or an agent that `run` accepts, to watch it."),
    ] = "you",
    task: Annotated[str | None, typer.Option(help="Task id; default: a task that --seed selects.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice of the task and of the environment.")] = 0,
    model: Annotated[str | None, typer.Option(help="The agent's model, as for `run`.")] = None,
    base_url: Annotated[str | None, typer.Option(help="The server of the agent's model.")] = None,
    user_model: Annotated[str | None, typer.Option(help="The model of the simulated user.")] = None,
    user_base_url: Annotated[str | None, typer.Option(help="The server of the user's model.")] = None,
) -> None:
    """Play an episode in the terminal, or watch an agent play one.

    Without --agent you type the actions. Ctrl-C or Ctrl-D stops the episode, with
    exit code 130.

    Examples:
      nlac-bench play twenty_questions
      nlac-bench play tau_retail --agent oracle --seed 3
      nlac-bench play tau_retail --agent nlac
      nlac-bench play 'twenty_questions@{"level": "easy"}'
    """
    options = {"task_id": task} if task else None
    if agent == "you":
        env = registry.make(name)
        require_text(env, name)
        _play_by_hand(env, seed, options)
        return
    from nlac_bench.api.configure import completed  # slow, and needed only for agents
    from nlac_bench.harness.measure.prepare import prepare
    from nlac_bench.harness.runs.configuration import COMMAND_LINE

    models = {"model": model, "base_url": base_url, "user_model": user_model, "user_base_url": user_base_url}
    settings = {"env": name, "agent": agent, "concurrency": 1}
    settings |= {key: value for key, value in models.items() if value is not None}
    prepared = prepare(completed(settings, measure_only=True, source=COMMAND_LINE))
    asyncio.run(_watch(prepared.agent, prepared.environments.make_env().unwrapped, seed, options))


def _play_by_hand(env: gymnasium.Env[str, str], seed: int, options: dict[str, str] | None) -> None:
    observation, info = env.reset(seed=seed, options=options)
    check_info(info)
    _show_start(observation, info)
    total, ended = 0.0, False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(_typed())
        total += float(reward)
        ended = terminated or truncated
        console.print(f"[cyan]{escape_lines(observation)}[/cyan]", soft_wrap=True)
    _show_end(info, total, terminated)


_UNPLAYED = {
    "context_overflow": "the conversation is longer than the model's context",
    "length": "the model's reply reached its length limit before it had an answer",
    "content_filter": "a content filter stopped the model's reply",
}


async def _watch(agent: Any, env: Any, seed: int, options: dict[str, str] | None) -> None:
    observation, info = await env.areset(seed=seed, options=options)
    actor = begun(agent, env, seed)
    _show_start(observation, info)
    total, ended = 0.0, False
    while not ended:
        turn = await actor.act(observation, info)
        console.print(f"[yellow]> {escape_lines(turn.text)}[/yellow]", soft_wrap=True)
        if not turn.played:
            console.print(f"the episode ends here: {_UNPLAYED[turn.finish]}")
            return
        observation, reward, terminated, truncated, info = await env.astep(turn.text)
        total += float(reward)
        ended = terminated or truncated
        console.print(f"[cyan]{escape_lines(observation)}[/cyan]", soft_wrap=True)
    _show_end(info, total, terminated)


def _show_start(observation: str, info: Info) -> None:
    if info.get("policy"):
        console.print(Panel(escape_lines(info["policy"]), title="what the agent is told"))
    if info.get("tools"):
        names = ", ".join(tool.get("function", tool)["name"] for tool in info["tools"])
        console.print(f"tools: {escape(names)}", soft_wrap=True)
    console.print(f"[cyan]{escape_lines(observation)}[/cyan]", soft_wrap=True)


def _show_end(info: Info, total: float, terminated: bool) -> None:
    verdict = "[bold green]success[/bold green]" if info.get("success") else "[bold red]no success[/bold red]"
    reason = info.get("end_reason") or ("terminated" if terminated else "truncated")
    console.print(f"{verdict if 'success' in info else 'over'} ({escape(str(reason))}), return {total:g}")


def _typed() -> str:
    try:
        return console.input("[yellow]> [/yellow]") if sys.stdin.isatty() else input()
    except (EOFError, KeyboardInterrupt):
        errors.print("\nstopped; the episode has no score")
        raise typer.Exit(130) from None
