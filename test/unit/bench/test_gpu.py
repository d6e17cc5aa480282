"""`python -m bench.gpu` on what is here; what PyTorch does for it on a GPU is played by others."""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import tools
from fake_driver import fake, fake_driver

from bench import gpu, gpu_cases
from bench.gpu_clock import Clock, peaks_of
from nn_opt.runtime.loader import RuntimeFault

__all__ = ["fake", "fake_driver"]  # fixtures


class FakeGraph:
    """Counts replays, each of which takes a millisecond of the device's time."""

    def __init__(self, cuda):
        self.cuda = cuda

    def replay(self):
        self.cuda.now += 1.0


class FakeCuda:
    """As much of torch.cuda as a clock asks for."""

    def __init__(self):
        self.now = 0.0
        self.recorded: list[str] = []
        self.synchronize = lambda: None

    def Stream(self):
        return SimpleNamespace(cuda_stream=77)

    def stream(self, stream):
        return nullcontext()

    def CUDAGraph(self):
        return FakeGraph(self)

    @contextmanager
    def graph(self, graph, stream, capture_error_mode):
        self.recorded.append(capture_error_mode)
        yield

    def Event(self, enable_timing):
        event = SimpleNamespace(at=0.0, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.now)
        event.elapsed_time = lambda other: other.at - event.at
        return event


def test_launches_are_recorded_on_a_stream_of_their_own_and_replayed():
    clock = Clock(SimpleNamespace(cuda=FakeCuda()))
    device = SimpleNamespace(stream=None)
    streams = []
    seconds = clock.mine(lambda: streams.append(device.stream), device)
    assert set(streams) == {77}
    assert device.stream is None
    assert seconds == pytest.approx(1e-3)
    assert clock.kind == "CUDA graphs"
    assert clock.theirs(lambda: None) == pytest.approx(1e-3)


def test_a_roofline_is_the_slower_of_memory_and_arithmetic():
    peaks = peaks_of("NVIDIA H200")
    assert peaks is not None
    assert peaks.seconds(67 * 10**12, 1, "f32") == pytest.approx(1)
    assert peaks.seconds(1, 48 * 10**11, "f32") == pytest.approx(1)
    assert peaks_of("pthread") is None


def test_costs_of_cases():
    cases = {case.name: case for case in gpu_cases.cases(small=False)}
    assert cases["matmul 4096 f16"].flops == 2 * 4096**3
    assert cases["matmul 4096 f16"].bytes == 2 * 3 * 4096**2
    conv = cases["conv 128->128 3x3/2 at 56, batch 8"]
    assert conv.flops == 2 * 8 * 128 * 128 * 9 * 28 * 28
    assert len([name for name in cases if name.startswith("conv")]) == 20


def session(seconds: float) -> gpu.Session:
    return gpu.Session("opencl", True, gpu.time.monotonic() + seconds, Clock())


def test_faults_and_time_are_told_of_and_leave_the_rest():
    def fail(row: gpu.Row) -> None:
        raise RuntimeFault("error: no such device\n  hint: buy one")

    one = session(60)
    one.add("a", "kernel", 1, fail)
    one.add("b", "kernel", 600, fail)
    one.add("c", "kernel", 1, lambda row: None)
    found = [(row.name, row.left_out, row.failed) for row in one.rows]
    assert found == [
        ("a", "error: no such device", True),
        ("b", "no time was left", False),
        ("c", "", False),
    ]


def test_a_wrong_result_ends_in_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "measure", lambda s: s.rows.append(gpu.Row("k", "kernel", 0.5)))
    with pytest.raises(SystemExit, match="wrong or failed: k"):
        gpu.main(["--target", "opencl", "--small", "--out", str(tmp_path)])


@tools.needs("opencl")
def test_the_script_measures_and_writes(monkeypatch, tmp_path):
    measure_and_write("opencl", monkeypatch, tmp_path)


@tools.needs("cc", "clang++-19", "nvrtc")
def test_the_script_measures_cuda(fake, monkeypatch, tmp_path):
    """On fibers of this CPU, by a driver that is not NVIDIA's."""
    facts = measure_and_write("cuda", monkeypatch, tmp_path)
    assert facts["device"] == "fake device 0"


def measure_and_write(target, monkeypatch, tmp_path):
    """Run the script on a small model and a small kernel; return what it wrote."""
    monkeypatch.setattr(gpu, "RIGHT", ("mlp",))
    monkeypatch.setattr(gpu, "TIMED", ("mlp",))
    monkeypatch.setattr(gpu, "cases", lambda small: [gpu_cases.product(32, "f16")])
    monkeypatch.setattr("bench.gpu_clock.SECONDS", 0.0)
    gpu.main(["--target", target, "--small", "--out", str(tmp_path)])
    facts = json.loads((tmp_path / "gpu-bench.json").read_text())
    rows = {row["name"]: row for row in facts["rows"]}
    assert rows["mlp"]["launches"] > 0
    assert rows["mlp"]["call_us"] > 0
    assert rows["matmul 32 f16"]["device_us"] > 0
    assert np.isfinite(rows["matmul 32 f16"]["error"])
    page = (tmp_path / "gpu-bench.md").read_text()
    assert facts["device"] in page
    assert "| matmul 32 f16 |" in page
    return facts
