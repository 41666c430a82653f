"""``python -m nlac_bench`` is the command ``nlac-bench``."""

import signal
import sys

from nlac_bench import garbage
from nlac_bench.errors import Terminated
from nlac_bench.shutdown import ignore_signals, record_signals, signal_number, silence_finalizers


def main() -> None:
    """Run the command line. Signals give exit codes 130 and 143, also while modules are imported."""
    signal.signal(signal.SIGTERM, _exit)
    record_signals()
    garbage.collect_rarely()
    garbage.use_few_arenas()
    try:
        from nlac_bench.cli import main as run_command  # not at the top: signals are handled from here on

        run_command()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception:
        if number := signal_number():
            sys.exit(128 + number)
        raise
    finally:  # the exit code is decided; a signal while the interpreter shuts down must not change it
        ignore_signals()
        garbage.exit_quickly()


def _exit(number: int, frame: object) -> None:
    """Raise, so that files and engines are closed as after Ctrl-C."""
    silence_finalizers()
    raise Terminated(128 + number)


if __name__ == "__main__":
    main()
