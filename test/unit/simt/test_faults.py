"""Planted faults in kernels are found when they run on the CPU, and said with where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tools
from simt_programs import Broken, Program, compile_cuda
from simt_runs import Array, Fault, Launch, Part, run, run_once

pytestmark = tools.needs("clang++-19", "g++")

TEXT = """\
extern "C" __global__ void __launch_bounds__(64) no_barrier(const float *x, float *y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void write_after_read(const float *x, float *y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float v = s[63 - threadIdx.x];
  s[threadIdx.x] = v;
  y[threadIdx.x] = v;
}
extern "C" __global__ void some_end(float *y) {
  if (threadIdx.x >= 5) return;
  __syncthreads();
  y[threadIdx.x] = 1;
}
extern "C" __global__ void two_barriers(float *y) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = 1;
}
extern "C" __global__ void ended_lane(float *y) {
  if (threadIdx.x == 7) return;
  y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}
extern "C" __global__ void lane_at_barrier(float *y) {
  if (threadIdx.x == 7) __syncthreads();
  y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}
extern "C" __global__ void lane_left_out(float *y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0f, 20);
}
extern "C" __global__ void reads(const float *x, float *y, int at) {
  if (threadIdx.x == 0) y[0] = x[at];
}
extern "C" __global__ void writes(float *x, int at) {
  if (threadIdx.x == 3) x[at] = 1;
}
extern "C" __global__ void reads_shared(float *y, int at) {
  __shared__ float s[2][8];
  s[at / 8][at % 8] = 1;
  y[0] = s[0][at];
}
extern "C" __global__ void reads_four(const float *x, float *y, int at) {
  float4 v = *reinterpret_cast<const float4 *>(x + at);
  if (threadIdx.x == 0) y[0] = v.x;
}
extern "C" __global__ void unwritten(float *y) {
  __shared__ float s[64];
  y[threadIdx.x] = fmaxf(s[threadIdx.x], 0.0f);
}
extern "C" __global__ void unwritten_dynamic(float *y) {
  extern __shared__ float s[];
  y[threadIdx.x] = fmaxf(s[threadIdx.x], 0.0f);
}
extern "C" __global__ void writes_dynamic(float *y) {
  extern __shared__ float s[];
  s[threadIdx.x] = y[0];
}
extern "C" __global__ void all_write(float *y) {
  if (threadIdx.x == 0) y[0] = blockIdx.x;
}
extern "C" __global__ void all_add(float *y) {
  atomicAdd(y, 1.0f);
}
extern "C" __global__ void add_and_read(float *y) {
  atomicAdd(y, 1.0f);
  y[1 + threadIdx.x] = y[0];
}
extern "C" __global__ void divides(int *y, int by) {
  y[threadIdx.x] = 7 / by;
}
extern "C" __global__ void warps_wait(float *y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void warps_do_not_wait_for_each_other(float *y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 32];
}
"""
ONE, BLOCK = (1, 1, 1), (64, 1, 1)
X = np.arange(64, dtype=np.float32)


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_cuda(TEXT)


def zeros() -> dict[str, Array]:
    return {"x": X, "y": np.zeros(65, np.float32)}


def go(program: Program, kernel: str, *arguments: str | np.generic, grid=ONE, shared=0) -> Array:
    steps = [Launch(kernel, grid, BLOCK, arguments, shared)]
    return run(program, steps, zeros())["y"]


def at(place: int) -> np.int32:
    return np.int32(place)


def test_a_missing_barrier_is_a_race(program: Program):
    said = (
        r"^no_barrier: line 4: block \(0, 0, 0\), thread \(0, 0, 0\): it reads byte \d+ of shared "
        r"memory, which no thread has written yet$"
    )
    with pytest.raises(Fault, match=said):
        go(program, "no_barrier", "x", "y")
    said = (
        r"^write_after_read: line 10: block \(0, 0, 0\), thread \(32, 0, 0\): race: it reads byte "
        r"\d+ of shared memory, thread \(31, 0, 0\) wrote it, and no barrier is in between$"
    )
    with pytest.raises(Fault, match=said):
        go(program, "write_after_read", "x", "y")


def test_a_missing_barrier_shows_in_the_order_of_threads(program: Program):
    steps = [Launch("no_barrier", ONE, BLOCK, ["x", "y"])]
    with pytest.raises(Fault, match=r"^y depends on the order of threads$"):
        run(program, steps, zeros(), watched=False)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (
            "some_end",
            r"thread \(0, 0, 0\) waits at the barrier of line 16, thread \(63, 0, 0\) has ended",
        ),
        (
            "two_barriers",
            r"thread \(0, 0, 0\) waits at the barrier of line 21, thread \(63, 0, 0\) at that of "
            r"line 23",
        ),
        ("ended_lane", "line 29: __shfl_xor_sync names lane 7, which has ended"),
        (
            "lane_at_barrier",
            "line 33: __shfl_xor_sync waits for lane 7, which waits at the barrier of line 32",
        ),
        ("lane_left_out", "line 36: __shfl_sync reads lane 20, which takes no part"),
        ("warps_do_not_wait_for_each_other", "line 88: .* it reads byte .* written yet"),
        ("unwritten", "line 55: .* it reads .* shared memory, which no thread has written"),
        ("all_write", "race: it writes byte 0 of y, and another block writes it"),
        ("add_and_read", r"race: it writes byte 0 of y, thread \(0, 0, 0\) .* it"),
    ],
)
def test_threads_that_do_not_work_together(program: Program, kernel: str, said: str):
    with pytest.raises(Fault, match=said):
        go(program, kernel, "y", grid=(2, 1, 1) if kernel == "all_write" else ONE)


@pytest.mark.parametrize("place", [64, -1])
@pytest.mark.parametrize("kernel", ["reads", "writes"])
def test_an_access_beside_a_buffer(program: Program, kernel: str, place: int):
    arguments = ["x", *(["y"] if kernel == "reads" else []), at(place)]
    thread = 0 if kernel == "reads" else 3
    said = rf"thread \({thread}, 0, 0\): out of bounds: byte {4 * place} of x, which has 256$"
    with pytest.raises(Fault, match=said):
        go(program, kernel, *arguments)


@pytest.mark.parametrize("place", [15, 32])
def test_an_access_beside_an_argument(program: Program, place: int):
    x = Part("x", 16 * 4, 16 * 4)
    run(program, [Launch("reads", ONE, BLOCK, [x, "y", at(15)])], zeros())
    said = f"it reads byte {64 + 4 * (place + 1)} of x, which is in none of its arguments"
    with pytest.raises(Fault, match=said):
        run(program, [Launch("reads", ONE, BLOCK, [x, "y", at(place + 1)])], zeros())


def test_an_access_beside_a_shared_array(program: Program):
    with pytest.raises(Fault, match=r"line 46: out of bounds: element 2 of 'float\[2\]\[8\]'"):
        go(program, "reads_shared", "y", at(16))
    with pytest.raises(Fault, match=r"line 47: out of bounds: element 9 of 'float\[8\]'$"):
        go(program, "reads_shared", "y", at(9))


def test_a_vector_that_is_not_aligned(program: Program):
    assert go(program, "reads_four", "x", "y", at(4))[0] == 4
    with pytest.raises(Fault, match=r"line 50: .*float4.* at an address that is no multiple of 16"):
        go(program, "reads_four", "x", "y", at(2))


def test_shared_memory_of_the_launch_begins_unwritten(program: Program):
    with pytest.raises(Fault, match="of dynamic shared memory, which no thread has written"):
        go(program, "unwritten_dynamic", "y", shared=256)


def test_a_launch_may_give_too_little_shared_memory(program: Program):
    go(program, "writes_dynamic", "y", shared=256)
    with pytest.raises(Fault, match=r"line 63: .* \(32, 0, 0\): out of bounds: byte 128 of d"):
        go(program, "writes_dynamic", "y", shared=128)


@pytest.mark.parametrize("kernel", ["unwritten", "unwritten_dynamic"])
def test_what_is_unwritten_differs_from_run_to_run(program: Program, kernel: str):
    steps = [Launch(kernel, ONE, BLOCK, ["y"], 256)]
    with pytest.raises(Fault, match="y depends on the order of threads"):
        run(program, steps, zeros(), watched=False)


def test_atomics_are_no_race(program: Program):
    assert go(program, "all_add", "y", grid=(3, 1, 1))[0] == 3 * 64


def test_a_warp_may_wait_for_itself(program: Program):
    np.testing.assert_array_equal(go(program, "warps_wait", "y")[:64], np.arange(64) ^ 1)


def test_a_division_by_zero(program: Program):
    buffers = {"y": np.zeros(64, np.int32)}
    steps = [Launch("divides", ONE, BLOCK, ["y", at(0)])]
    with pytest.raises(Fault, match="an integer is divided by zero"):
        run_once(program, steps, buffers)
    steps = [Launch("divides", ONE, BLOCK, ["y", at(2)])]
    assert (run_once(program, steps, buffers)["y"] == 3).all()  # handlers are gone, state is fresh


def test_a_write_to_what_is_constant(program: Program):
    steps = [Launch("writes", ONE, BLOCK, ["x", at(0)])]
    with pytest.raises(Fault, match="it writes byte 0 of x, which is constant"):
        run(program, steps, zeros(), constant=["x"])
    with pytest.raises(Fault, match="out of bounds: byte 0 of x, which has 256"):
        run(program, steps, zeros(), constant=["x"], watched=False)


def test_a_block_is_no_larger_than_the_text_says(program: Program):
    steps = [Launch("no_barrier", ONE, (96, 1, 1), ["x", "y"])]
    with pytest.raises(Fault, match="no_barrier: 96 threads a block, but it is compiled for 64"):
        run(program, steps, zeros())


def test_vectors_have_no_operators():
    text = (
        '__device__ float4 twice(float4 a) { return a + a; }\nextern "C" __global__ void k() {}\n'
    )
    with pytest.raises(Broken, match=r"kernels\.cu:1:\d+: error: invalid operands"):
        compile_cuda(text)


def test_a_run_gives_its_memory_back(program: Program):
    """A process may have some 65,000 mappings, and tests many programs."""
    count = lambda: len(Path("/proc/self/maps").read_text().splitlines())  # noqa: E731
    go(program, "all_add", "y")
    before = count()
    go(program, "all_add", "y")
    assert count() < before + 10
    assert before < 10_000
