"""Runs a worker process: `python -P -m nlac_bench.simulators.math_grader.worker PARENT MEMORY_MB`.

It reads requests from standard input and writes verdicts to standard output, each as a four-byte length and
JSON. It ends when its input closes or its parent has ended. The kernel ends it with SIGPROF when a case
exceeds its CPU time, and with SIGALRM when it exceeds its wall time, so that no process remains after the
parent was killed.
"""

import json
import os
import resource
import select
import signal
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

GRACE_S = (
    1.0  # the parent kills the worker at the limit of wall time; the alarm does so if the parent has ended
)
_PARENT_POLL_S = 2.0
_RECURSION = 12_000


def main() -> None:
    parent, memory_mb = int(sys.argv[1]), int(sys.argv[2])
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output of a library must not be read as a reply
    requests = os.fdopen(0, "rb", buffering=0)
    sys.setrecursionlimit(_RECURSION)
    for number in (signal.SIGPROF, signal.SIGALRM):  # the parent process may ignore or block these signals
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF, signal.SIGALRM))

    from nlac_bench.simulators.math_grader.compare.judge import check
    from nlac_bench.simulators.math_grader.evaluate import symbolic

    symbolic.equal(r"\int_0^1 2x dx", "1")  # loads sympy and the grammar before any case is timed
    check("x+1", "1 + x")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    allowance = memory_mb * 2**20
    held = _address_space()  # memory of the libraries
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if held and hard != resource.RLIM_INFINITY and hard < held + allowance:
        # Otherwise the limit of this machine would be reported as one that the answer exceeded.
        raise SystemExit(
            f"the limit of address space, {hard >> 20} MB, leaves less than {memory_mb} MB for a case; raise "
            "it (ulimit -v)"
        )
    send(replies, {"ready": True})
    while (request := _next_request(requests, parent)) is not None:
        failed, fault, peak_before, limit = False, "", _peak(), _limit_memory(allowance)
        signal.setitimer(signal.ITIMER_REAL, request["wall_s"] + GRACE_S)
        signal.setitimer(signal.ITIMER_PROF, request["cpu_s"])
        try:
            correct, reason = check(request["gold"], request["pred"])
        except MemoryError:
            correct, reason, failed = None, f"ungraded: more than {memory_mb} MB of memory", True
        except RecursionError:
            correct, reason = None, "ungraded: nested too deep"
        except Exception as error:  # the parent determines whether the answer or the grader is at fault
            correct, reason, fault = None, "", f"{type(error).__name__}: {error}"[:500]
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        # A library may have caught the MemoryError; the case then used nearly all of its limit.
        if not failed and limit and _peak() > max(peak_before, limit - allowance // 32):
            correct, reason, failed = None, f"ungraded: more than {memory_mb} MB of memory", True
            fault = ""
        # The process is replaced when its caches use half of the limit of a case.
        last = bool(failed or fault or _address_space() > held + allowance // 2)
        verdict = {"error": fault} if fault else {"correct": correct, "reason": reason}
        send(replies, {**verdict, "last": last})
        if last:
            return


def send(stream: BinaryIO, message: dict[str, object]) -> None:
    """Write one framed message."""
    body = json.dumps(message).encode()
    frame = struct.pack(">I", len(body)) + body
    while frame:
        frame = frame[stream.write(frame) :]


def _next_request(stream: BinaryIO, parent: int) -> dict[str, Any] | None:
    poll = select.poll()
    poll.register(stream, select.POLLIN | select.POLLHUP)
    # After the parent's end the input stays open if a forked sibling has a copy of its other end.
    while not poll.poll(_PARENT_POLL_S * 1000):
        if os.getppid() != parent:
            return None
    header = _read(stream, 4)
    if header is None:
        return None
    body = _read(stream, struct.unpack(">I", header)[0])
    return None if body is None else json.loads(body)


def _read(stream: BinaryIO, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            return None
        data += part
    return data


def _limit_memory(allowance: int) -> int:
    """Limit the address space to its current size plus `allowance` bytes, and return that limit.

    Returns 0 and sets no limit if the size of the address space is unknown.
    """
    held = _address_space()
    if not held:
        return 0
    limit = held + allowance
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return limit


def _address_space() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmPeak:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
