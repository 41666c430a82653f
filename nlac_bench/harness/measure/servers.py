"""Reads ``--servers`` and decides which slot each server has."""

import typing

from nlac_bench.errors import ConfigError
from nlac_bench.rollout.engines.engine import Slot
from nlac_bench.rollout.engines.vllm.http import check_address

SHARE = 8
"""Number of servers per server of slot ``target``. NLAC samples one call in eight from it, and with
``train.backup_by=target`` three in eight, for which more servers can be labelled."""


def assigned(servers: str, needs_target: bool) -> list[tuple[str, Slot]]:
    """Return the address and the slot of each server that the run uses.

    Servers without a label are of slot ``policy``; if the method samples from slot ``target`` and no server
    is labelled ``target``, the last eighth of them, at least one, is of slot ``target``.

    Args:
        servers: ``URL[@SLOT]``, separated by commas.
        needs_target: whether the method samples from slot ``target``; otherwise servers labelled ``target``
            are not used.

    Raises:
        ConfigError: a label is not a slot, an address is repeated, or a slot would have no server.
        NlacBenchError: as ``check_address``.
    """
    results: list[tuple[str, Slot | None]] = []
    for text in filter(None, (part.strip() for part in servers.split(","))):
        url, at, label = text.rpartition("@") if "@" in text.rpartition("/")[2] else (text, "", None)
        if at and label not in typing.get_args(Slot):
            raise ConfigError(
                f"--servers: {label!r} is not a slot; write URL@policy or URL@target, or the URL alone"
            )
        check_address(url)
        results.append((url, typing.cast(Slot | None, label)))
    urls = [url for url, _ in results]
    if twice := next((url for url in urls if urls.count(url) > 1), None):
        raise ConfigError(f"--servers names {twice} twice; a server has the weights of one slot")
    if not needs_target:
        results = [(url, slot) for url, slot in results if slot != "target"]
    elif all(slot != "target" for _, slot in results):
        free = [number for number, (_, slot) in enumerate(results) if slot is None]
        for number in free[len(free) - max(1, round(len(results) / SHARE)) :] if free else ():
            results[number] = results[number][0], "target"
    slots = [(url, slot or "policy") for url, slot in results]
    for wanted in ("policy", "target") if needs_target else ("policy",):
        if all(slot != wanted for _, slot in slots):
            raise ConfigError(
                f"--servers {servers!r} has no server of slot {wanted!r}; a server has the weights of one "
                f"slot, so start another one and add it as URL@{wanted}"
            )
    return slots
