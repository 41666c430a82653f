"""Peak of the bytes in tensors, from the allocations that torch's profiler records."""

from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(function: Callable[[], Any]) -> int:
    """Return the largest number of bytes that tensors made in ``function`` had at the same time (CPU).

    Tensors that it makes in other threads are not counted.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        function()
    held = peak = 0
    events = recorded.profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        if event.device_type() == torch.autograd.DeviceType.CPU:
            held += event.nbytes()
            peak = max(peak, held)
    return peak
