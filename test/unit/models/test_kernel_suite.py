"""A kernel of each kind, under whatever looks for races, wild accesses and lost barriers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
import tools
from gpu_lowering import lowered
from kernel_suite import assert_right, feeds, suite
from oclgrind import Job, findings, run_under_oclgrind
from simt_device import run_on_fibers
from simt_runs import Fault

import nn_opt


@tools.needs("oclgrind", "pyopencl")
def test_oclgrind_finds_nothing(tmp_path: Path) -> None:
    job = Job(lowered(suite(), "opencl"), list(feeds().values()))
    report = run_under_oclgrind({"suite": job}, tmp_path)
    assert report.log == ""
    assert_right(report.outputs["suite"])


@tools.needs("clang++-19", "g++")
@pytest.mark.parametrize("language", ["cuda", "metal"])
def test_both_orders_of_threads_are_right(language: str) -> None:
    """Races, reads of what nobody wrote and accesses out of bounds are faults, too."""
    assert_right(run_on_fibers(lowered(suite(), language), list(feeds().values()), language))


COPIES = """<ir_version: 10, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y, float[2, 2] z) {
  y = Identity(x)
  s = Constant<value_ints = [2, 2]>()
  z = Reshape(x, s)
}"""


@tools.needs("opencl")
def test_a_model_may_have_no_kernels() -> None:
    x = np.arange(4, dtype=np.float32)
    model = nn_opt.compile(onnx.parser.parse_model(COPIES), target="opencl", cache=False)
    results = model.run({"x": x})
    np.testing.assert_array_equal(results["y"], x)
    np.testing.assert_array_equal(results["z"], x.reshape(2, 2))


FAULTY = """
builtin.module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @NAME(%x: memref<64xf32>, %y: memref<64xf32>) kernel attributes {
        known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %t = gpu.thread_id x
      %s = loop.alloc "s" : memref<64xf32, "shared">
      %v = loop.load %x[PLACE] : memref<64xf32>
      loop.store %v, %s[%t] : memref<64xf32, "shared">
      BARRIER
      %w = loop.load %s[63 - %t] : memref<64xf32, "shared">
      loop.store %w, %y[%t] : memref<64xf32>
      gpu.return
    }
  }
  func.func @main(%x: memref<64xf32>, %y: memref<64xf32>) attributes {num_outputs = 1 : i64} {
    %one = arith.constant 1 : index
    %n = arith.constant 64 : index
    gpu.launch_func @kernels::@NAME blocks in (%one, %one, %one) threads in (%n, %one, %one)
      args(%x : memref<64xf32>, %y : memref<64xf32>)
    func.return
  }
}
"""
X = np.arange(64, dtype=np.float32)


def faulty(name: str, *, place: str = "%t", barrier: str = "gpu.barrier") -> Job:
    text = FAULTY.replace("NAME", name).replace("PLACE", place).replace("BARRIER", barrier)
    return Job(nn_opt.parse(text), [X])


@tools.needs("oclgrind", "pyopencl")
def test_oclgrind_finds_planted_faults(tmp_path: Path) -> None:
    jobs = {
        "right": faulty("right"),
        "race": faulty("race", barrier=""),
        "wild": faulty("wild", place="%t + 1"),
    }
    report = run_under_oclgrind(jobs, tmp_path)
    np.testing.assert_array_equal(report.outputs["right"][0], X[::-1])
    said = {(one.kernel, one.what.split(" at ")[0]) for one in report.findings}
    assert said == {
        ("race", "Read-write data race"),
        ("wild", "Invalid read of size 4"),
    }
    lines = (tmp_path / "race.cl").read_text().split("\n")
    numbers = {int(one.line) for one in report.findings if one.kernel == "race"}
    assert {lines[number - 1].strip()[:4] for number in numbers} == {"s[t]", "y[t]"}


ONE_MORE_BARRIER = (
    "gpu.barrier\nloop.if (31 - %t >= 0) {\n gpu.barrier\n}"  # for half of the threads
)


@tools.needs("clang++-19", "g++")
@pytest.mark.parametrize(
    ("language", "changes", "said"),
    [
        ("cuda", {"barrier": ""}, "which no thread has written yet"),
        ("metal", {"place": "%t + 1"}, "out of bounds: byte 256 of .*, which has 256"),
        ("metal", {"barrier": ONE_MORE_BARRIER}, "waits at the barrier of line .* has ended"),
    ],
    ids=["race", "wild", "divergent"],
)
def test_fibers_find_planted_faults(language: str, changes: dict[str, str], said: str) -> None:
    job = faulty("reverse", **changes)
    with pytest.raises(Fault, match=said):
        run_on_fibers(job.module, job.inputs, language)


def test_a_log_is_read() -> None:
    assert findings("") == []
    assert findings("Device created\n") == []
