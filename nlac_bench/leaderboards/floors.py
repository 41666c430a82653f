"""Plays the floors and the oracle of every environment and data source, and makes entries of them.

``python -m nlac_bench.leaderboards.floors --out leaderboards/results/floors`` plays whole test splits. Each
run is made in a temporary folder, played again (level ``replayed``) and then removed; the same command makes
the same outcomes. ``--only TEXT`` plays the environments whose string contains TEXT.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from nlac_bench.agents.names import FLOORS
from nlac_bench.envs import registry
from nlac_bench.envs.env_string import join
from nlac_bench.errors import MissingError
from nlac_bench.harness.measure.model_defaults import EASY
from nlac_bench.harness.measure.play import play
from nlac_bench.harness.measure.prepare import prepare
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.submit import derive, refuse_faults, write_entries


def environments() -> Iterator[str]:
    """Yield the environments of the boards: all built-in ones with embedded data, also at the level that the
    embedded model plays, and with official data; those with worlds instead with each kind of rules, also at
    the level ``conditional``."""
    for name in registry.BUILTIN:
        if name == "shop_worlds":
            for level in ({}, {"level": "conditional"}):
                for rules in ("told", "hidden"):
                    yield join(name, {"rules": rules, "worlds": "held_out", **level})
            continue
        yield name
        if name not in EASY:
            continue
        yield join(name, EASY[name])
        yield join(name, {"data": "official"})
        if name == "twenty_questions":  # also the rule for unknowns of published results
            yield join(name, {"unknowns": "no"})
            yield join(name, {"data": "official", "unknowns": "no"})


def agents_of(env: str) -> list[str]:
    """Return the agents without a model that can play ``env``.

    Only τ-bench has the tool of ``transfer``, and only mathematics has statements for ``copy``.
    """
    of = {"transfer": "tau", "copy": "math"}
    return [agent for agent in FLOORS if env.startswith(of.get(agent, ""))]


def played(env: str, agent: str, folder: Path) -> Entry:
    """Play the whole test split of ``env`` with ``agent`` in the new run ``folder``, and return its entry.

    Raises:
        NlacBenchError: the environment cannot be played (its data are missing, for instance), or a check of
            the run fails.
    """
    prepared = prepare(RunConfig.from_mapping({"env": env, "agent": agent}, f"{env}, {agent}"))
    with prepared.new_run(folder) as writer:
        asyncio.run(play(prepared, writer, lambda result: None))
    derived = derive([folder], replayed=True)
    refuse_faults(derived, partial=False)
    return derived.entry


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the entries one by one, and name those whose data are not on this machine."""
    parser = argparse.ArgumentParser(description="Write the entries of floors and oracles.")
    parser.add_argument(
        "--out", type=Path, default=Path("leaderboards/results/floors"), help="folder of entries"
    )
    parser.add_argument("--only", default="", help="play only environments whose string contains this")
    chosen = parser.parse_args(arguments)
    for env in environments():
        for agent in agents_of(env) if chosen.only in env else ():
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                try:
                    entry = played(env, agent, Path(folder) / "run")
                except MissingError as error:
                    print(f"{env}, {agent}: left out, {error}")
                    continue
            write_entries([entry], chosen.out)
            print(f"{env}, {agent}: {entry.numbers.success_if_missing_failed:.3f}", flush=True)


if __name__ == "__main__":
    main()
