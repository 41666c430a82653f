"""Divides the GPUs of one or several machines between the learner and the servers of each slot."""

from collections.abc import Iterator
from dataclasses import dataclass

from nlac_bench.cluster.launch.settings import TABLE, LaunchSettings
from nlac_bench.errors import ConfigError
from nlac_bench.rollout.engines.engine import Slot

SERVERS_PER_TARGET = 8
"""Number of servers per server of slot ``target``, to which NLAC sends about one call in eight."""


@dataclass(frozen=True)
class Placement:
    """The GPUs ``gpus`` of each of the machines ``nodes``; both are numbered from 0."""

    nodes: tuple[int, ...]
    gpus: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of GPUs on all machines."""
        return len(self.nodes) * len(self.gpus)


@dataclass(frozen=True)
class Layout:
    """Where the ranks of the learner are, and the servers with their slots."""

    learner: Placement
    servers: tuple[tuple[Slot, Placement], ...]


def layout(settings: LaunchSettings, averaged: bool) -> Layout:
    """Return the layout: the learner has the first GPUs, servers of the policy follow, then the others.

    Args:
        averaged: whether the method samples from slot ``target``, which needs a server of its own.

    Raises:
        ConfigError: the GPUs cannot be divided in this way; the message names the setting to change.
    """
    learner = _learner(settings)
    places = list(_server_places(settings, learner))
    target = _target_servers(settings, len(places), averaged)
    first = len(places) - target
    servers: list[tuple[Slot, Placement]] = [("policy", place) for place in places[:first]]
    servers += [("target", place) for place in places[first:]]
    return Layout(learner, tuple(servers))


def _learner(settings: LaunchSettings) -> Placement:
    nodes, each, wanted = settings.nodes, settings.gpus_per_node, settings.learner_gpus
    total = nodes * each
    if total == 1:
        raise ConfigError(
            "1 GPU cannot be divided between servers and learner; run `nlac-bench run --engine vllm`, where "
            "they share it"
        )
    if wanted is None:
        wanted = each // 2 if nodes == 1 else nodes // 2 * each
    if wanted >= total:
        raise ConfigError(
            f"{TABLE}.learner_gpus = {wanted} leaves no GPU to the servers: there are {total} ({nodes} × "
            f"{each}); set it to less than {total}"
        )
    if wanted > each and wanted % each:
        raise ConfigError(
            f"{TABLE}.learner_gpus = {wanted} must be a multiple of {TABLE}.gpus_per_node = {each}, or at "
            f"most {each}, because torchrun starts equally many ranks on each machine"
        )
    return Placement(tuple(range(max(1, wanted // each))), tuple(range(min(wanted, each))))


def _server_places(settings: LaunchSettings, learner: Placement) -> Iterator[Placement]:
    """Yield the GPUs of each server."""
    each, parts = settings.gpus_per_node, settings.tensor_parallel_size
    if parts > each:
        raise ConfigError(
            f"{TABLE}.tensor_parallel_size = {parts} is more than the {each} GPUs of a machine "
            f"({TABLE}.gpus_per_node); set it to at most {each}"
        )
    size = parts * settings.data_parallel_size
    free = [(node, tuple(range(each))) for node in range(settings.nodes) if node not in learner.nodes]
    if len(learner.gpus) < each:
        free.insert(0, (0, tuple(range(len(learner.gpus), each))))
    if size > each:
        yield from _spanning(settings, size, [node for node, gpus in free if len(gpus) == each])
        return
    for node, gpus in free:
        if len(gpus) % size:
            named = f"{TABLE}.tensor_parallel_size = {parts}"
            if settings.data_parallel_size > 1:
                named += f" times {TABLE}.data_parallel_size = {settings.data_parallel_size}"
            raise ConfigError(
                f"{named} does not divide the {len(gpus)} GPUs of machine {node} that serve ({each}, less "
                f"those of {TABLE}.learner_gpus); set it to a divisor of {len(gpus)}"
            )
        for start in range(0, len(gpus), size):
            yield Placement((node,), gpus[start : start + size])


def _spanning(settings: LaunchSettings, size: int, whole: list[int]) -> Iterator[Placement]:
    """Yield servers that have several whole machines each."""
    each, engines = settings.gpus_per_node, settings.data_parallel_size
    if size % each or each % settings.tensor_parallel_size:
        raise ConfigError(
            f"{TABLE}.data_parallel_size = {engines} engines of {settings.tensor_parallel_size} GPUs need "
            f"{size} GPUs, which must be whole machines of {each}; change {TABLE}.data_parallel_size"
        )
    count = size // each
    if not whole or len(whole) % count:
        raise ConfigError(
            f"{TABLE}.data_parallel_size = {engines} needs {count} machines for each server, and "
            f"{len(whole)} machines have no learner; change {TABLE}.data_parallel_size or "
            f"{TABLE}.learner_gpus"
        )
    for start in range(0, len(whole), count):
        yield Placement(tuple(whole[start : start + count]), tuple(range(each)))


def _target_servers(settings: LaunchSettings, servers: int, averaged: bool) -> int:
    """Return the number of servers of slot ``target``."""
    wanted = settings.target_servers
    if not averaged:
        if wanted:
            raise ConfigError(
                f"{TABLE}.target_servers = {wanted}, but this method samples from no slot target; remove "
                "the setting"
            )
        return 0
    if servers < 2:
        raise ConfigError(
            f"this method needs a server of slot policy and one of slot target, and {servers} fits on "
            f"the GPUs that serve; reduce {TABLE}.tensor_parallel_size = {settings.tensor_parallel_size}, "
            f"{TABLE}.data_parallel_size = {settings.data_parallel_size} or {TABLE}.learner_gpus"
        )
    result = max(1, servers // SERVERS_PER_TARGET) if wanted is None else wanted
    if not 1 <= result < servers:
        raise ConfigError(
            f"{TABLE}.target_servers = {result} must be from 1 to {servers - 1}: there are {servers} "
            "servers, and slots policy and target need at least one each"
        )
    return result
