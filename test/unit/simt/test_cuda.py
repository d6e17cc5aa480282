"""What CUDA C++ says kernels do is what they do when they run on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import tools
from simt_programs import Program, compile_cuda
from simt_runs import Array, Launch, Part, run

pytestmark = tools.needs("clang++-19", "g++")

TEXT = """\
#include <cuda_fp16.h>
#include <mma.h>
extern "C" __global__ void places(int *y) {
  int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  y[block * blockDim.x * blockDim.y * blockDim.z + thread] = 100 * block + thread;
}
extern "C" __global__ void shuffles(int *y) {
  int lane = threadIdx.x % 32, n = blockDim.x, t = threadIdx.x;
  y[0 * n + t] = __shfl_sync(0xffffffffu, lane, 35);
  y[1 * n + t] = __shfl_sync(0xffffffffu, lane, 3, 8);
  y[2 * n + t] = __shfl_up_sync(0xffffffffu, lane, 2);
  y[3 * n + t] = __shfl_down_sync(0xffffffffu, lane, 3, 16);
  y[4 * n + t] = __shfl_xor_sync(0xffffffffu, lane, 16);
  y[5 * n + t] = __ballot_sync(0xffffffffu, lane % 3 == 0);
  y[6 * n + t] = __any_sync(0xffffffffu, lane == 5) + 2 * __all_sync(0xffffffffu, lane < 31);
  y[7 * n + t] = __reduce_add_sync(0xffffffffu, lane);
}
extern "C" __global__ void halves_of_a_warp(int *y) {
  int lane = threadIdx.x;
  if (lane < 16) {
    y[lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
    y[lane] += __shfl_xor_sync(0x0000ffffu, lane, 2);
  } else {
    y[lane] = __shfl_xor_sync(0xffff0000u, lane, 3);
  }
}
extern "C" __global__ void count(unsigned *bins, const unsigned char *x) {
  __shared__ unsigned s[4];
  if (threadIdx.x < 4) s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[x[blockIdx.x * blockDim.x + threadIdx.x] & 3], 1);
  __syncthreads();
  if (threadIdx.x < 4) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
extern "C" __global__ void halves(const half *a, const half *b, half *y, float *z) {
  int i = threadIdx.x;
  y[i] = a[i] * b[i] + a[i];
  z[i] = __half2float(__hfma(a[i], b[i], a[i]));
}
extern "C" __global__ void fours(const float4 *x, float4 *y, float scale) {
  float4 v = x[threadIdx.x];
  y[threadIdx.x] = make_float4(scale * v.w, scale * v.z, scale * v.y, scale * v.x);
}
using namespace nvcuda;
extern "C" __global__ void matmul(const half *a, const half *b, float *c, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2;
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
"""
ONE, WARP = (1, 1, 1), (32, 1, 1)
LANES = np.arange(32)


@pytest.fixture(scope="module", params=["", "-DSIMT_UCONTEXT"], ids=["assembly", "portable"])
def program(request: pytest.FixtureRequest) -> Program:
    return compile_cuda(TEXT, *filter(None, [request.param]))


def go(program: Program, kernel: str, block=WARP, grid=ONE, **buffers: Array) -> dict[str, Array]:
    return run(program, [Launch(kernel, grid, block, list(buffers))], buffers)


def test_blocks_and_threads_have_places(program: Program):
    y = go(program, "places", (4, 2, 3), (3, 2, 5), y=np.zeros(720, np.int32))["y"]
    expected = 100 * np.arange(30)[:, None] + np.arange(24)
    np.testing.assert_array_equal(y.reshape(30, 24), expected)


def test_shuffles_read_the_lanes_that_the_manual_says(program: Program):
    rows = go(program, "shuffles", (64, 1, 1), y=np.zeros(8 * 64, np.int32))["y"].reshape(8, 2, 32)
    expected = [
        np.full(32, 3),  # 35 % 32
        LANES // 8 * 8 + 3,
        np.where(LANES < 2, LANES, LANES - 2),
        np.where(LANES % 16 + 3 < 16, LANES + 3, LANES),
        LANES ^ 16,
        np.full(32, sum(1 << k for k in range(0, 32, 3))),
        np.full(32, 1),
        np.full(32, 31 * 32 // 2),
    ]
    for row, want in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(row.astype(np.uint32), np.stack([want, want]))


def test_parts_of_a_warp_meet_on_their_own(program: Program):
    y = go(program, "halves_of_a_warp", y=np.zeros(32, np.int32))["y"]
    np.testing.assert_array_equal(y, np.where(LANES < 16, (LANES ^ 1) + (LANES ^ 2), LANES ^ 3))


def test_atomics_count(program: Program):
    x = np.random.default_rng(0).integers(0, 256, 640).astype(np.uint8)
    bins = go(program, "count", (64, 1, 1), (10, 1, 1), bins=np.zeros(4, np.uint32), x=x)["bins"]
    np.testing.assert_array_equal(bins, np.bincount(x & 3, minlength=4))


def test_halves_round_at_each_operation(program: Program):
    a, b = np.random.default_rng(1).standard_normal((2, 32)).astype(np.float16)
    results = go(program, "halves", a=a, b=b, y=np.zeros_like(a), z=np.zeros(32, np.float32))
    np.testing.assert_array_equal(results["y"], a * b + a)
    exact = a.astype(np.float64) * b + a
    np.testing.assert_array_equal(results["z"], exact.astype(np.float16).astype(np.float32))
    assert (results["y"] != results["z"]).any()


def test_a_warp_multiplies_matrices(program: Program):
    rng = np.random.default_rng(2)
    a, b = rng.integers(-8, 8, (2, 16, 48)).astype(np.float16)
    buffers = {"a": a, "b": b, "c": np.zeros((16, 16), np.float32)}
    steps = [Launch("matmul", ONE, WARP, ["a", "b", "c", np.int32(48)])]
    c = run(program, steps, buffers)["c"]
    np.testing.assert_array_equal(c, 2 * a.astype(np.float32) @ b.astype(np.float32).T)


def test_launches_follow_each_other_on_parts_of_a_buffer(program: Program):
    x = np.arange(32 * 4, dtype=np.float32).reshape(32, 4)
    buffers = {"x": x, "arena": np.full(32 * 12, np.nan, np.float32)}
    middle, end = Part("arena", 32 * 4 * 4), Part("arena", 32 * 8 * 4)
    steps = [
        Launch("fours", ONE, WARP, ["x", middle, np.float32(2)]),
        Launch("fours", ONE, WARP, [middle, end, np.float32(3)]),
    ]
    results = run(program, steps, buffers, constant=["x"])
    np.testing.assert_array_equal(results["arena"].reshape(3, 32, 4)[2], 6 * x)
