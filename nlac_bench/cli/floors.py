"""``nlac-bench floors``: the success of agents that use no model, and of the oracle."""

import asyncio
import time
from contextlib import aclosing
from typing import Annotated, Any

import typer

from nlac_bench.agents.floors import CopyAgent, cannot_play, floor_agent
from nlac_bench.cli.output import JsonFlag, console, errors, escape, escape_lines, print_json
from nlac_bench.envs import registry
from nlac_bench.envs.env_string import join
from nlac_bench.envs.seed_world import world_of_seed
from nlac_bench.errors import ConfigError
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.stats.outcomes import unknown_rate_of
from nlac_bench.stats.tables import number, render_table

AGENTS = ("oracle", "constant", "random", "silent", "transfer", "copy")
PLAYED = (
    *registry.BUILTIN,
    join("shop_worlds", {"level": "conditional"}),
    join("twenty_questions", {"unknowns": "no"}),
)
"""The environments that are played by default: the built-in ones, the level ``conditional`` of worlds, which
its default does not include, and twenty questions with the published rule for unknowns."""


def floors(
    env: Annotated[
        list[str] | None, typer.Option(help="Environment; can be repeated; default: the built-in ones.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Agent; can be repeated; default: all that can play the environment."),
    ] = None,
    episodes: Annotated[
        int, typer.Option(help="Number of tasks of each environment, evenly chosen; 0: all tasks.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Base seed of the episodes.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Play environments with the oracle and with agents that use no model; print their success.

    The agent 'constant' repeats the best single action on the training split.
    The agent 'transfer', with τ-bench's tools, hands over to a human at once. The
    agent 'copy', for mathematics, answers with an expression of the statement;
    'copied_numbers' and 'copied_gold_forms' in --json are its success with parts
    without an operator and with parts that are the gold answer as it is written.

    Examples:
      nlac-bench floors
      nlac-bench floors --env 'tau_airline@{"data": "official"}' --agent transfer
    """
    if episodes < 0:
        raise ConfigError(f"--episodes must be at least 0, got {episodes}")
    rows: list[dict[str, Any]] = []
    chosen = [(name, _agents_of(name, agent, seed)) for name in env or PLAYED]
    for name, agents in chosen:
        for agent_name in agents:
            rows.append(_play(name, agent_name, episodes, seed))
            if not as_json:
                said = escape(f"{name}: {agent_name} played {rows[-1]['scored']} episodes")
                errors.print(f"[dim]{said}[/dim]", soft_wrap=True)
    if as_json:
        print_json({"rows": rows})
        return
    header = ["env", "data", "split", "tasks", "agent", "success", "reward", "steps"]
    header += ["scored", "planned", "infra", "per s"]
    asked = any("unknown_rate" in row for row in rows)
    header += ["unknown rate"] if asked else []
    cells = []
    for r in rows:
        figures = [number(r[column]) for column in ("success", "mean_reward", "steps")]
        counts = [str(r[column]) for column in ("scored", "planned", "infra_errors")]
        env_cells = [r["env"], r["data_source"], r["split"], str(r["tasks"]), r["agent"]]
        unknown = [number(r.get("unknown_rate"))] if asked else []
        cells.append([*env_cells, *figures, *counts, f"{r['episodes_per_s']:.0f}", *unknown])
    console.print(escape_lines(render_table(header, cells)), soft_wrap=True)
    for row in rows:
        if row["action"] is not None:
            console.print(escape(f"{row['env']}: constant action {row['action'][:120]!r}"), soft_wrap=True)


def _agents_of(name: str, asked: list[str] | None, seed: int) -> list[str]:
    """Return the agents that play ``name``: those that were asked for, or all that can.

    Raises:
        ConfigError: an agent that was asked for cannot play it.
    """
    env, world = registry.make_text_env(name), world_of_seed(name, seed)
    played = []
    for agent in asked or AGENTS:
        why = cannot_play(agent, env, lambda: registry.make_training_env(name, **world))
        if why is None:
            played.append(agent)
        elif asked:
            raise ConfigError(f"the agent {agent!r} cannot play {name}: {why}")
    return played


def _play(name: str, agent_name: str, episodes: int, seed: int) -> dict[str, Any]:
    env = registry.make_text_env(name)  # the tasks are the same in every world
    world = world_of_seed(name, seed)
    agent = floor_agent(agent_name, lambda: registry.make_training_env(name, **world))
    every = (
        max(1, len(env.task_ids) // episodes) if episodes else 1
    )  # evenly chosen, because tasks are sorted by level
    tasks = env.task_ids[::every][: episodes or None]
    specs = [EpisodeSpec(name, task, 0, derive_seed(seed, task, 0)) for task in tasks]

    def play(agent: Any) -> list[Any]:
        driver = Driver(agent, lambda: registry.make_playable(name, **world), concurrency=1)

        async def play_all() -> list[Any]:
            async with aclosing(driver.run(specs)) as results:
                return [result async for result in results]

        return asyncio.run(play_all())

    began = time.perf_counter()
    results = play(agent)
    seconds = time.perf_counter() - began
    scored = [result for result in results if not isinstance(result, Failure)]
    unknown = [rate for e in scored if (rate := unknown_rate_of(e)) is not None]
    apart = {}
    if agent_name == "copy":
        apart = {
            "copied_numbers": _success(play(CopyAgent(kind="number"))),
            "copied_gold_forms": _success(play(CopyAgent(kind="gold form"))),
        }
    return {
        "env": name,
        "agent": agent_name,
        "action": getattr(agent, "action", None) if agent_name == "constant" else None,
        "data_source": env.source.kind,
        "split": env.split,
        "tasks": len(env.task_ids),
        "success": _success(results),
        "mean_reward": sum(e.total_reward for e in scored) / len(scored) if scored else None,
        "planned": len(specs),
        "scored": len(scored),
        "infra_errors": len(results) - len(scored),
        "failed_tasks": [e.task_id for e in scored if not e.success] if agent_name == "oracle" else [],
        "steps": sum(len(e.turns) for e in scored) / len(scored) if scored else None,
        "episodes_per_s": len(results) / seconds,
        **({"unknown_rate": sum(unknown) / len(unknown)} if unknown else {}),
        **apart,
    }


def _success(results: list[Any]) -> float | None:
    scored = [result for result in results if not isinstance(result, Failure)]
    return sum(bool(e.success) for e in scored) / len(scored) if scored else None
