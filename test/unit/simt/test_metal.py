"""Metal text is checked as far as can be without Apple's compiler, and runs on the CPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import tools
from simt_metal import check_metal, compile_metal
from simt_programs import Broken, Program
from simt_runs import Array, Fault, Launch, run

pytestmark = tools.needs("clang++-19", "clang-19", "g++")

TEXT = """\
#include <metal_stdlib>
using namespace metal;

kernel void places(device uint *y [[buffer(0)]], uint3 p [[thread_position_in_grid]],
                   uint3 n [[threads_per_grid]], uint2 g [[threadgroup_position_in_grid]],
                   ushort t [[thread_index_in_threadgroup]]) {
  y[(p.z * n.y + p.y) * n.x + p.x] = 1000 * g.y + 100 * g.x + t;
}
[[kernel]] void lanes(device float *y [[buffer(0)]], uint t [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint group [[simdgroup_index_in_threadgroup]]) {
  float v = lane + 100.0 * group;
  y[t] = simd_sum(v);
  y[64 + t] = simd_max(v);
  y[128 + t] = simd_shuffle_xor(v, 3);
  y[192 + t] = simd_shuffle_down(v, 4);
  y[256 + t] = simd_prefix_exclusive_sum(float(lane));
  y[320 + t] = simd_broadcast(v, 7);
  y[384 + t] = float(ulong(simd_ballot(lane < 3)));
}
constant float table[4] = {1.0, 0.5, 0.25, 0.125};
kernel void vectors(device const half4 *x [[buffer(0)]], device float4 *y [[buffer(1)]],
                    constant int &n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (int(i) >= n) return;
  float4 v = float4(x[i]);
  v = fma(v, float4(2.0f), float4(v.wz, v.y, table[i % 4]));
  y[i] = select(v, -v, v > 0.0f) + as_type<float>(0x3f800000u);
}
[[kernel, max_total_threads_per_threadgroup(32)]] void
products(device const float *a [[buffer(0)]], device const half *b [[buffer(1)]],
         device float *c [[buffer(2)]], threadgroup float *s [[threadgroup(0)]],
         uint t [[thread_index_in_threadgroup]]) {
  simdgroup_matrix<float, 8, 8> fa, fc = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
  simdgroup_half8x8 fb;
  for (uint k = t; k < 64; k += 32) s[k] = a[k];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_load(fa, s, 8);
  simdgroup_load(fb, b, 8, ulong2(0, 0), true);
  simdgroup_multiply_accumulate(fc, fa, fb, fc);
  simdgroup_store(fc, c, 8);
}
kernel void no_barrier(device float *y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float s[64];
  s[t] = t;
  threadgroup_barrier(mem_flags::mem_device);
  y[t] = s[63 - t];
}
"""
ONE, BLOCK = (1, 1, 1), (64, 1, 1)
T = np.arange(64)


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_metal(TEXT)


def go(program: Program, kernel: str, block=BLOCK, grid=ONE, **buffers: Array) -> dict[str, Array]:
    return run(program, [Launch(kernel, grid, block, list(buffers))], buffers)


def test_threads_know_their_places(program: Program):
    y = go(program, "places", (4, 2, 2), (3, 2, 1), y=np.zeros(12 * 4 * 2, np.uint32))["y"]
    z, row, column = np.indices((2, 4, 12))
    thread = (z * 2 + row % 2) * 4 + column % 4
    np.testing.assert_array_equal(
        y.reshape(2, 4, 12), 1000 * (row // 2) + 100 * (column // 4) + thread
    )


def test_lanes_of_a_group_work_together(program: Program):
    rows = go(program, "lanes", y=np.zeros(7 * 64, np.float32))["y"].reshape(7, 2, 32)
    v = np.arange(32) + 100.0 * np.arange(2)[:, None]
    lane = np.arange(32)
    expected = [
        np.repeat(v.sum(1)[:, None], 32, 1),
        np.repeat(v.max(1)[:, None], 32, 1),
        v[:, lane ^ 3],
        v[:, np.where(lane < 28, lane + 4, lane)],
        np.stack([np.cumsum(lane) - lane] * 2),
        np.repeat(v[:, 7:8], 32, 1),
        np.full((2, 32), 7.0),
    ]
    np.testing.assert_array_equal(rows, np.stack(expected))


def test_vectors_are_values(program: Program):
    x = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float16)
    buffers = {"x": x, "y": np.zeros((64, 4), np.float32)}
    steps = [Launch("vectors", ONE, BLOCK, ["x", "y", np.int32(60)])]
    y = run(program, steps, buffers, constant=["x"])["y"]
    v = x.astype(np.float32)
    added = np.stack([v[:, 3], v[:, 2], v[:, 1], 0.5 ** (T % 4)], 1).astype(np.float32)
    expected = -np.abs(2 * v + added) + 1
    np.testing.assert_allclose(y[:60], expected[:60], rtol=1e-6, atol=1e-7)
    assert (y[60:] == 0).all()


def test_groups_multiply_matrices(program: Program):
    rng = np.random.default_rng(1)
    a, b = rng.integers(-8, 8, (2, 8, 8))
    buffers = {"a": a.astype(np.float32), "b": b.astype(np.float16), "c": np.zeros((8, 8), "f")}
    steps = [Launch("products", ONE, (32, 1, 1), list(buffers), 256)]
    np.testing.assert_array_equal(run(program, steps, buffers)["c"], a @ b.T + 1)
    with pytest.raises(Fault, match="products: 64 threads a block, but it is compiled for 32"):
        run(program, [Launch("products", ONE, BLOCK, list(buffers), 256)], buffers)


def test_a_barrier_for_other_memory_orders_nothing(program: Program):
    with pytest.raises(Fault, match=r"line 46: .*race: it reads byte .* of shared memory, thread"):
        go(program, "no_barrier", y=np.zeros(64, np.float32))


def test_the_text_has_the_right_types():
    check_metal(TEXT)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("threadgroup float *p = x;", "cannot initialize a variable of type .__local float"),
        ("float4 v = float4(1.0f, 2.0f);", "a vector is made of one scalar, or of as many"),
        ("float v = erf(x[0]);", "poisoned identifier"),
        ("double v = 1.0;", "poisoned identifier"),
        ("threadgroup_barrier(mem_flags::mem_local);", "no member named 'mem_local'"),
        ("x[0] = y[0];", "undeclared identifier 'y'"),
        ("threadgroup alignas(16) float s[4];", "an attribute list cannot appear here"),
    ],
)
def test_errors_of_types_are_found(body: str, said: str):
    text = f"kernel void k(device float *x [[buffer(0)]]) {{\n  {body}\n}}\n"
    with pytest.raises(Broken, match=said):
        check_metal("#include <metal_stdlib>\nusing namespace metal;\n" + text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("device float *x [[bufer(0)]]", "no argument of a kernel has the attribute 'bufer'"),
        ("device float *x", "needs one attribute that says where it comes from"),
        ("device float *x [[buffer(1)]]", r"buffers are numbered \[1\]"),
        ("uint i [[thread_position_in_gird]]", "has the attribute 'thread_position_in_gird'"),
        (
            ", ".join(f"device float *x{k} [[buffer({k})]]" for k in range(32)),
            "k: 32 buffers, but there are 31 at most",
        ),
    ],
)
def test_errors_of_attributes_are_found(arguments: str, said: str):
    with pytest.raises(Broken, match=said):
        check_metal(f"kernel void k({arguments}) {{}}\n")


SHADER = """\
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(binding = 2) uniform N { int n; };
shared float s[64];
void main() {
  uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationID.x;
  vec4 v = i < n ? x[i] : vec4(0.0);
  float w = clamp(v.x, -1.0, 1.0) + max(v.y, v.z) * 0.1 + dot(v, vec4(1.0, 2.0, 3.0, 4.0));
  s[t] = w + subgroupShuffleXor(w, 5u) + subgroupAdd(w) / 32.0;
  barrier();
  for (uint k = 32; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    barrier();
  }
  if (t == 0) y[gl_WorkGroupID.x] = s[0];
}
"""


@tools.needs("glslangValidator", "spirv-cross")
def test_text_that_another_compiler_printed(tmp_path: Path):
    """So that the checks are not made to fit our own text."""
    (tmp_path / "k.comp").write_text(SHADER)
    spirv = str(tmp_path / "k.spv")
    compiler = [tools.need("glslangValidator"), "-V", "--target-env", "vulkan1.2", "-o", spirv]
    subprocess.run([*compiler, str(tmp_path / "k.comp")], check=True, capture_output=True)
    printer = [tools.need("spirv-cross"), "--msl", "--msl-version", "20200", spirv]
    text = subprocess.run(printer, check=True, capture_output=True, text=True).stdout
    check_metal(text)
    x = np.random.default_rng(3).standard_normal((100, 4)).astype(np.float32)
    buffers = {"x": x, "y": np.zeros(2, np.float32)}
    steps = [Launch("main0", (2, 1, 1), BLOCK, [np.int32(100), "x", "y"])]
    y = run(compile_metal(text), steps, buffers)["y"]
    v = np.concatenate([x, np.zeros((28, 4))])
    w = v[:, 0].clip(-1, 1) + np.maximum(v[:, 1], v[:, 2]) * 0.1 + v @ [1, 2, 3, 4]
    np.testing.assert_allclose(y, 3 * w.reshape(2, 64).sum(1), rtol=1e-4, atol=1e-4)
