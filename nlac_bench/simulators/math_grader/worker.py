"""Runs a worker process, which judges the cases that its parent sends; started by `WorkerProcess`.

The kernel ends it with SIGPROF when a case exceeds its CPU time, and with SIGALRM when it exceeds its wall
time, so that no process remains after the parent was killed.
"""

import resource
import signal
import sys
from pathlib import Path

from nlac_bench.child_process import Parent

GRACE_S = (
    1.0  # the parent kills the worker at the limit of wall time; the alarm does so if the parent has ended
)
_RECURSION = 12_000


def main() -> None:
    parent, memory_mb = Parent(), int(sys.argv[3])
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
    parent.send({"ready": True})
    while True:
        request = parent.receive()
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
        parent.send({**verdict, "last": last})
        if last:
            return


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
