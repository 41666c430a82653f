"""``nlac-bench bench-gpu --only learner`` as torchrun starts it, with small shapes on a CPU."""

import os
from functools import partial

from nlac_bench.cli import bench_gpu, main
from nlac_bench.cluster.gpu import table
from nlac_bench.cluster.gpu.device import Device
from tests.cluster.test_bench_gpu import CPU, SIZES

if __name__ == "__main__":
    cpus = Device("cpu", CPU.name, 2, CPU.memory, int(os.environ["WORLD_SIZE"]), CPU.peak)
    Device.here = classmethod(lambda cls: cpus)  # type: ignore[method-assign, assignment]
    bench_gpu.measure = partial(table.measure, sizes=SIZES)
    main()
