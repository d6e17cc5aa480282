"""How long a device takes: launches recorded once and replayed where PyTorch can, else calls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nn_opt.runtime.device import Device

WARM = 2  # runs that are not counted
TURNS = 5
SECONDS = 0.2  # of a turn


@dataclass(frozen=True)
class Peaks:
    """What a device does at most: bytes and operations a second, by the type of numbers."""

    bytes: float
    flops: Mapping[str, float]

    def seconds(self, flops: int, bytes_: int, dtype: str) -> float:
        """Return the least seconds that the roofline allows."""
        return max(bytes_ / self.bytes, flops / self.flops[dtype])


# Vendor's figures: f32 without tensor cores, f16 with them, dense.
PEAKS = {
    "H200": Peaks(4.8e12, {"f32": 67e12, "f16": 989e12}),
    "H100 PCIe": Peaks(2.0e12, {"f32": 51e12, "f16": 756e12}),
    "H100": Peaks(3.35e12, {"f32": 67e12, "f16": 989e12}),
    "A100-SXM4-80GB": Peaks(2.04e12, {"f32": 19.5e12, "f16": 312e12}),
    "A100": Peaks(1.56e12, {"f32": 19.5e12, "f16": 312e12}),
    "L4": Peaks(0.3e12, {"f32": 30.3e12, "f16": 121e12}),
    "T4": Peaks(0.32e12, {"f32": 8.1e12, "f16": 65e12}),
}


def peaks_of(name: str) -> Peaks | None:
    """Return what a device of a name does at most, if that is known."""
    return next((peaks for key, peaks in PEAKS.items() if key in name), None)


def torch_on_gpu() -> Any:
    """Return PyTorch if it is here and has a CUDA device, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


@dataclass
class Clock:
    """Times work on a device. With `torch`, its CUDA graphs replay launches without the host."""

    torch: Any = None

    @property
    def kind(self) -> str:
        """How device time is taken."""
        return "CUDA graphs" if self.torch is not None else "calls"

    def call(self, work: Callable[[], object], finish: Callable[[], object]) -> float:
        """Return the median seconds of a call that the host waits for."""
        for _ in range(WARM):
            work()
        finish()
        times: list[float] = []
        begin = time.perf_counter()
        while len(times) < TURNS or time.perf_counter() - begin < SECONDS:
            start = time.perf_counter()
            work()
            finish()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def mine(self, work: Callable[[], object], device: Device) -> float:
        """Return the seconds that the device needs for launches by `work`."""
        if self.torch is None:
            return self.call(work, device.finish)
        return self._replayed(work, device)

    def theirs(self, work: Callable[[], object]) -> float:
        """Return the seconds that the device needs for what PyTorch launches by `work`."""
        return self._replayed(work, None)

    def _replayed(self, work: Callable[[], object], device: Device | None) -> float:
        """Record launches of a stream, and time their replays by events."""
        torch = self.torch
        stream = torch.cuda.Stream()
        target: Any = device
        if target is not None:
            target.stream = stream.cuda_stream
        try:
            with torch.cuda.stream(stream):
                for _ in range(WARM):
                    work()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="relaxed"):
                work()
            return self._per_replay(graph)
        finally:
            if target is not None:
                target.stream = None

    def _per_replay(self, graph: Any) -> float:
        """Return the median seconds of a replay, over turns of many."""
        torch = self.torch
        graph.replay()
        once = self._between(graph, 1)
        count = max(1, min(int(SECONDS / TURNS / max(once, 1e-6)), 10000))
        torch.cuda.synchronize()
        return statistics.median(self._between(graph, count) / count for _ in range(TURNS))

    def _between(self, graph: Any, count: int) -> float:
        torch = self.torch
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3
