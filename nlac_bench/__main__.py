"""``python -m nlac_bench`` is the command ``nlac-bench``."""

from nlac_bench.cli import main

main()
