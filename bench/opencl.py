"""Kernels as OpenCL on the first device: matrix products and layers, beside a kernel by hand.

    python -m bench.opencl                    all
    python -m bench.opencl matmul             those whose names begin so
    python -m bench.opencl --json FILE        also write the figures

Without a GPU the device is a core: PoCL runs a block's threads as a loop, pinned to one thread.
The kernel by hand is what one would write for a GPU: 64 threads, each with 8 by 8 results.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.timing import pin
from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import set_target
from nn_opt.pipelines import expand
from nn_opt.runtime.device import DeviceArray, DeviceProgram
from nn_opt.runtime.opencl import OpenCLDevice

SUBJECTS = ("nn-opt", "by hand")
SECONDS = 2.0  # of taking turns, a case
ROUNDS = 3  # at least
BY_HAND = """
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void matmul(__global const float *restrict a, __global const float *restrict b,
            __global float *restrict c) {
  __local float as[16][64]; __local float bs[16][64];
  const int tx = get_local_id(0), ty = get_local_id(1), t = ty * 8 + tx;
  const int row = get_group_id(1) * 64, column = get_group_id(0) * 64;
  float sums[8][8];
  for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) sums[i][j] = 0;
  for (int k0 = 0; k0 < SIZE; k0 += 16) {
    for (int e = t; e < 1024; e += 64)
      as[e % 16][e / 16] = a[(row + e / 16) * SIZE + k0 + e % 16];
    for (int e = t; e < 1024; e += 64)
      bs[e / 64][e % 64] = b[(k0 + e / 64) * SIZE + column + e % 64];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++)
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
          sums[i][j] = fma(as[k][ty * 8 + i], bs[k][tx * 8 + j], sums[i][j]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) c[(row + ty * 8 + i) * SIZE + column + tx * 8 + j] = sums[i][j];
}
"""


@dataclass(frozen=True)
class Case:
    """A graph, the operations that it takes, and the size if it is the product by hand as well."""

    name: str
    text: str
    flops: int
    size: int = 0


def product(rows: int, columns: int, depth: int) -> Case:
    """Return a product of matrices."""
    x, w, y = f"{rows}x{depth}xf32", f"{depth}x{columns}xf32", f"{rows}x{columns}xf32"
    text = f"""
func.func @main(%x: tensor<{x}>, %w: tensor<{w}>) -> tensor<{y}> {{
  %y = graph.matmul %x, %w : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
  func.return %y : tensor<{y}>
}}"""
    square = rows == columns == depth and rows % 64 == 0
    name = f"matmul {rows}x{depth}x{columns}"
    return Case(name, text, 2 * rows * columns * depth, rows if square else 0)


def convolution(channels: int, filters: int, size: int, taps: int) -> Case:
    """Return a convolution of stride 1 that keeps an image's size."""
    pad = taps // 2
    x, y = f"1x{channels}x{size}x{size}xf32", f"1x{filters}x{size}x{size}xf32"
    w = f"{filters}x{channels}x{taps}x{taps}xf32"
    how = f"strides [1, 1] pads [{pad}, {pad}, {pad}, {pad}] dilations [1, 1] group 1"
    text = f"""
func.func @main(%x: tensor<{x}>, %w: tensor<{w}>) -> tensor<{y}> {{
  %y = graph.conv %x, %w {how} : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
  func.return %y : tensor<{y}>
}}"""
    flops = 2 * channels * filters * taps**2 * size**2
    return Case(f"conv {channels}->{filters}, {taps}x{taps} at {size}x{size}", text, flops)


CASES = (
    product(512, 512, 512),
    product(1000, 1000, 1000),
    product(128, 3072, 768),
    convolution(64, 64, 56, 3),
    convolution(256, 256, 14, 3),
    convolution(64, 256, 56, 1),
)


def program_of(case: Case) -> DeviceProgram:
    """Return a case as kernels on the device."""
    context = make_context()
    module = parse_module(context, case.text, "case.mlir")
    set_target(module, "opencl")
    for name in ("fuse-ops", "lower-to-loops", "lower-to-gpu"):
        for step in expand(name):
            step.apply(context, module)
    source = print_kernels(module, language_named("opencl"))
    plan, weights = plan_launches(module, source, signature_of(module))
    return DeviceProgram(plan, OpenCLDevice(source.text), weights.content())


def call_of(program: DeviceProgram) -> tuple[Callable[[], object], dict[str, DeviceArray]]:
    """Return what runs a program on inputs that are on the device, and these."""
    rng = np.random.default_rng(0)
    inputs: dict[str, DeviceArray] = {}
    for buffer in program.plan.with_role("input"):
        handle = program.device.allocate(buffer.size)
        array: NDArray[np.float32] = rng.standard_normal(buffer.shape).astype(np.float32)
        program.device.write(handle, array.reshape(-1).view(np.uint8))
        inputs[buffer.name] = DeviceArray(program.device, handle, buffer.shape, buffer.numpy_dtype)

    def call() -> None:
        program.run(inputs)
        program.device.finish()

    return call, inputs


def by_hand(
    program: DeviceProgram, size: int, inputs: Sequence[DeviceArray]
) -> Callable[[], object]:
    """Return what runs the kernel by hand on the same inputs; it is right if this returns."""
    device = OpenCLDevice(BY_HAND.replace("SIZE", str(size)))
    kernel = device.cl.Kernel(device.program, "matmul")
    target = device.allocate(4 * size * size)
    memory = [*(array.handle for array in inputs), target]

    def call() -> None:
        kernel.set_args(*memory)  # which it does not keep alive
        threads = (size // 8, size // 8)
        device.cl.enqueue_nd_range_kernel(device.queue, kernel, threads, (8, 8))
        device.finish()

    call()
    mine = next(iter(program.run(dict(zip(_names(program), inputs, strict=True))).values()))
    other = DeviceArray(device, target, mine.shape, mine.dtype)
    np.testing.assert_allclose(other.numpy(), mine.numpy(), rtol=1e-3, atol=1e-3)
    return call


def _names(program: DeviceProgram) -> list[str]:
    return [buffer.name for buffer in program.plan.with_role("input")]


def measure(case: Case) -> tuple[str, dict[str, float]]:
    """Return the device and the GFLOP/s of each subject."""
    program = program_of(case)
    mine, inputs = call_of(program)
    calls = {"nn-opt": mine}
    if case.size:
        calls["by hand"] = by_hand(program, case.size, list(inputs.values()))
    assert isinstance(program.device, OpenCLDevice)
    on_cpu = program.device.device.type & program.device.cl.device_type.CPU
    times = best_of_turns(calls, time.process_time if on_cpu else time.perf_counter)
    return program.device.name, {n: case.flops / t / 1e9 for n, t in times.items()}


def best_of_turns(
    calls: Mapping[str, Callable[[], object]], clock: Callable[[], float]
) -> dict[str, float]:
    """Return the least seconds of each call, in turns; on a core, those that it had for itself."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    begin = time.perf_counter()
    while time.perf_counter() - begin < SECONDS or len(min(times.values(), key=len)) < ROUNDS:
        for name, call in calls.items():
            start = clock()
            call()
            times[name].append(clock() - start)
    return {name: min(taken) for name, taken in times.items()}


def table_of(device: str, rates: Mapping[str, Mapping[str, float]]) -> Table:
    """Return what was measured on a device, a case a row."""
    table = Table("case", *SUBJECTS, title="GFLOP/s as OpenCL", caption=device)
    for name, found in rates.items():
        table.add_row(name, *(f"{found[n]:.1f}" if n in found else "" for n in SUBJECTS))
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the cases that are named and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.opencl")
    parser.add_argument("names", nargs="*", help="beginnings of names of cases")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    options = parser.parse_args(arguments)
    names = tuple(options.names) or ("",)
    os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "1")
    pin(1)
    device, rates = "", dict[str, dict[str, float]]()
    for case in CASES:
        if case.name.startswith(names):
            device, rates[case.name] = measure(case)
    Console().print(table_of(device, rates))
    if options.json is not None:
        rounded = {name: {n: round(r, 2) for n, r in row.items()} for name, row in rates.items()}
        facts = {"device": device, "gflops": rounded}
        options.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
