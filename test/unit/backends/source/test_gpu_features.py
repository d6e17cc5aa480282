"""What kernels have beyond scalars, in every language that has it, as the interpreter has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import tools
from one_kernel import CUDA
from opencl import run_opencl, run_webgpu
from simt_device import run_on_fibers
from xdsl.dialects.builtin import ModuleOp

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import verify
from nn_opt.reference import run

RUNS = {
    "opencl": (run_opencl, ("opencl",)),
    "cuda": (partial(run_on_fibers, language="cuda"), ("clang++-19",)),
    "metal": (partial(run_on_fibers, language="metal"), ("clang++-19",)),
    "wgsl": (run_webgpu, ("wgpu", "vulkan")),
}
F32 = ["32xf32", "32xf32"]
I32 = ["32xi32", "32xi32"]
LANES = "%t = gpu.thread_id x\n%v = loop.load %x0[%t] : memref<32xf32>\n"
NUMBERS = "%t = gpu.thread_id x\n%v = loop.load %x0[%t] : memref<32xi32>\n"
STORE = "\nloop.store %r, %x1[%t] : memref<32xf32>"
STORE_I = "\nloop.store %r, %x1[%t] : memref<32xi32>"
CONSTANTS = "%two = arith.constant 2 : i32\n%eight = arith.constant 8 : i32\n"


def shuffle(mode: str) -> str:
    text = f"%r, %ok = gpu.shuffle {mode} %v, %two, %eight : f32"
    other = "%m = arith.constant -1.0 : f32\n%s = arith.select %ok, %r, %m : f32"
    return LANES + CONSTANTS + text + f"\n{other}" + STORE.replace("%r", "%s")


# Name: the languages, the body, the types of buffers, options of the launch.
WARPS = ("cuda", "metal")
ALL = ("opencl", "cuda", "metal", "wgsl")
FEATURES: dict[str, tuple[tuple[str, ...], str, list[str]]] = {
    **{f"shuffle {mode}": (WARPS, shuffle(mode), F32) for mode in ("xor", "up", "down", "idx")},
    "rotate": (WARPS, LANES + "%r, %ok = gpu.rotate %v, 3, 8 : f32" + STORE, F32),
    "sum of lanes": (WARPS, LANES + "%r = gpu.subgroup_reduce add %v : (f32) -> f32" + STORE, F32),
    "clusters": (
        WARPS,
        LANES
        + "%r = gpu.subgroup_reduce maximumf %v cluster(size = 4, stride = 2) : (f32) -> f32"
        + STORE,
        F32,
    ),
    "bits of lanes": (
        WARPS, NUMBERS + "%r = gpu.subgroup_reduce xor %v : (i32) -> i32" + STORE_I, I32,
    ),
    "broadcast": (
        WARPS,
        LANES + CONSTANTS + "%r = gpu.subgroup_broadcast %v, specific_lane %eight : f32" + STORE,
        F32,
    ),
    "ballot": (
        WARPS,
        NUMBERS
        + "%z = arith.constant 50 : i32\n%c = arith.cmpi sgt, %v, %z : i32\n"
        + "%r = gpu.ballot %c : i32" + STORE_I,
        I32,
    ),
    "lanes": (
        WARPS,
        "%t = gpu.thread_id x\n%l = gpu.lane_id\n%s = gpu.subgroup_id : index\n"
        "%n = gpu.num_subgroups : index\n%w = gpu.subgroup_size : index\n"
        "%a = loop.apply %l + 100 * %s + 1000 * %n + 10000 * %w\n"
        "%r = arith.index_cast %a : index to i32" + STORE_I,
        I32,
    ),
    "unaligned vectors": (
        ALL,
        "%t = gpu.thread_id x\nloop.if (6 - %t >= 0) {\n"
        "%v = loop.load %x0[4 * %t + 1] : memref<32xf32>, vector<4xf32>\n"
        "%w = math.exp %v : vector<4xf32>\n"
        "loop.store %w, %x1[4 * %t + 1] : memref<32xf32>, vector<4xf32>\n}",
        F32,
    ),
    "strides": (
        ALL,
        "%t = gpu.thread_id x\nloop.if (3 - %t >= 0) {\n"
        "%v = loop.load %x0[%t] stride 8 : memref<32xf32>, vector<4xf32>\n"
        "loop.store %v, %x1[4 * %t] : memref<32xf32>, vector<4xf32>\n}",
        F32,
    ),
    "vectors at an edge": (
        ALL,
        "%t = gpu.thread_id x\nloop.if (7 - %t >= 0) {\n"
        "%v = loop.load %x0[4 * %t - 2] or -1.0 : memref<32xf32>, vector<4xf32>\n"
        "loop.store %v, %x1[4 * %t] : memref<32xf32>, vector<4xf32>\n}",
        F32,
    ),
    "eight lanes": (
        ALL,
        "%t = gpu.thread_id x\nloop.if (3 - %t >= 0) {\n"
        "%v = loop.load %x0[8 * %t] : memref<32xi32>, vector<8xi32>\n"
        "%c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : vector<8xi32>\n"
        "%w = arith.muli %v, %c : vector<8xi32>\n"
        "%a = vector.extract %v[3] : i32 from vector<8xi32>\n"
        "%u = vector.insert %a, %w [6] : i32 into vector<8xi32>\n"
        "%s = vector.reduction <add>, %u : vector<8xi32> into i32\n"
        "%b = vector.broadcast %s : i32 to vector<8xi32>\n"
        "%k = arith.cmpi slt, %u, %b : vector<8xi32>\n"
        "%d = arith.select %k, %u, %b : vector<8xi1>, vector<8xi32>\n"
        "loop.store %d, %x1[8 * %t] : memref<32xi32>, vector<8xi32>\n}",
        I32,
    ),
    "halves": (
        ALL,
        "%t = gpu.thread_id x\n%h = loop.load %x0[%t] : memref<32xf16>\n"
        "%f = arith.extf %h : f16 to f32\n%e = math.exp %f : f32\n"
        "%r = arith.truncf %e : f32 to f16\nloop.store %r, %x1[%t] : memref<32xf16>",
        ["32xf16", "32xf16"],
    ),
    "bf16": (
        ALL,
        "%t = gpu.thread_id x\n%h = loop.load %x0[%t] : memref<32xbf16>\n"
        "%f = arith.extf %h : bf16 to f32\n%e = math.exp %f : f32\n"
        "%r = arith.truncf %e : f32 to bf16\nloop.store %r, %x1[%t] : memref<32xbf16>",
        ["32xbf16", "32xbf16"],
    ),
    "bytes": (
        ALL,
        "%t = gpu.thread_id x\n%a = loop.load %x0[31 - %t] : memref<32xi8>\n"
        "%r = arith.addi %a, %a : i8\nloop.store %r, %x1[%t] : memref<32xi8>",
        ["32xi8", "32xi8"],
    ),
    "views, tables, copies": (
        ALL,
        "%t = gpu.thread_id x\n%p = loop.view %x0 offset 16 : memref<32xf32> to memref<2x8xf32>\n"
        "%c = loop.constant dense<[1.0, 2.0, 4.0, 0x7F800000]> : tensor<4xf32> to memref<4xf32>\n"
        "%s = loop.alloc \"s\" : memref<16xf32, \"stack\">\n"
        "%q = loop.view %p : memref<2x8xf32> to memref<16xf32>\n"
        "loop.copy %q to %s : memref<16xf32> to memref<16xf32, \"stack\">\n"
        "%a = loop.load %s[%t mod 16] : memref<16xf32, \"stack\">\n"
        "%b = loop.load %c[%t mod 4] : memref<4xf32>\n"
        "%d = loop.load %p[1, %t floordiv 4] : memref<2x8xf32>\n"
        "%e = arith.addf %a, %b : f32\n%r = arith.addf %e, %d : f32" + STORE,
        F32,
    ),
    "gathers": (
        ALL,
        "%t = gpu.thread_id x\nloop.if (7 - %t >= 0) {\n"
        "%i = loop.load %x0[4 * %t] : memref<32xi64>, vector<4xi64>\n"
        "%g = loop.gather 4 %x1[%i] or -3.0 : memref<16xf32>\n"
        "loop.store %g, %x2[4 * %t] : memref<32xf32>, vector<4xf32>\n}",
        ["32xi64", "16xf32", "32xf32"],
    ),
    "shared memory": (
        ALL,
        "%t = gpu.thread_id x\n%s = loop.alloc \"s\" : memref<4x8xf32, \"shared\">\n"
        "%v = loop.load %x0[%t] : memref<32xf32>\n"
        "loop.store %v, %s[%t floordiv 8, %t mod 8] : memref<4x8xf32, \"shared\">\n"
        "gpu.barrier\n%r = loop.load %s[%t mod 4, %t floordiv 4] : memref<4x8xf32, \"shared\">"
        + STORE,
        F32,
    ),
}  # fmt: skip


def inputs(types: list[str]) -> list[Any]:
    """Return arrays for all buffers but the last."""
    rng = np.random.default_rng(0)
    made: list[Any] = []
    for type_ in types[:-1]:
        count, element = type_.split("x")
        if element == "i64":
            made.append(rng.integers(-2, 18, int(count)))
        elif element[0] == "i":
            made.append(rng.integers(-100, 100, int(count)).astype(f"int{element[1:]}"))
        else:
            values = rng.standard_normal(int(count)).astype(np.float32)
            made.append(values.astype(_float(element)))
    return made


def _float(element: str) -> Any:
    import ml_dtypes

    return ml_dtypes.bfloat16 if element == "bf16" else f"float{element[1:]}"


def eight_lanes(x: Any) -> Any:
    rows = x.reshape(4, 8)
    products = rows * np.arange(1, 9, dtype=np.int32)
    products[:, 6] = rows[:, 3]
    return np.minimum(products, products.sum(axis=1, keepdims=True)).reshape(-1)


def views(x: Any) -> Any:
    t = np.arange(32)
    table = np.float32([1, 2, 4, np.inf])
    return x[16 + t % 16] + table[t % 4] + x[24 + t // 4]


def gathers(i: Any, x: Any) -> Any:
    return np.where((i >= 0) & (i < 16), x[np.clip(i, 0, 15)], np.float32(-3))


# What the interpreter does not do for all threads at once.
BY_HAND: dict[str, Callable[..., Any]] = {
    "eight lanes": eight_lanes,
    "views, tables, copies": views,
    "gathers": gathers,
}
Feature = tuple[tuple[str, ...], str, list[str]]


def kernel(number: int, feature: Feature) -> tuple[str, str, list[str]]:
    """Return a kernel, its launch, and the arguments of @main."""
    _, body, types = feature
    heads = ", ".join(f"%x{k}: memref<{t}>" for k, t in enumerate(types))
    names = [f"%a{number}_{k}" for k in range(len(types))]
    passed = ", ".join(f"{n} : memref<{t}>" for n, t in zip(names, types, strict=True))
    launch = f"""gpu.launch_func @kernels::@f{number} blocks in (%one, %one, %one)
      threads in (%threads, %one, %one) args({passed})"""
    text = f"""gpu.func @f{number}({heads}) kernel attributes {{
      known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
    {body}
    gpu.return
    }}"""
    arguments = [f"{n}: memref<{t}>" for n, t in zip(names, types, strict=True)]
    return text, launch, arguments


def module_of(features: Sequence[Feature]) -> ModuleOp:
    """Return a module that does each of these once."""
    parts = [kernel(number, feature) for number, feature in enumerate(features)]
    given = [argument for _, _, arguments in parts for argument in arguments[:-1]]
    results = [arguments[-1] for _, _, arguments in parts]
    newline = "\n"
    text = f"""builtin.module attributes {{gpu.container_module}} {{
    gpu.module @kernels attributes {{gpu.limits = {CUDA.format(subgroup=32)}}} {{
    {newline.join(text for text, _, _ in parts)}
    }}
    func.func @main({", ".join([*given, *results])})
        attributes {{num_outputs = {len(parts)} : i64}} {{
    %one = arith.constant 1 : index
    %threads = arith.constant 32 : index
    {newline.join(launch for _, launch, _ in parts)}
    func.return
    }}
    }}"""
    module = parse_module(make_context(), text, "k.mlir")
    verify(module)
    return module


CASES = [pytest.param(name, marks=tools.needs(*RUNS[name][1]), id=name) for name in RUNS]


@pytest.mark.parametrize("language", CASES)
def test_kernels_compute_what_the_interpreter_does(language: str):
    features = {name: f for name, f in FEATURES.items() if language in f[0]}
    given = [array for _, _, types in features.values() for array in inputs(types)]
    known = {name: f for name, f in features.items() if name not in BY_HAND}
    first = [array for _, _, types in known.values() for array in inputs(types)]
    wanted = dict(zip(known, run(module_of(list(known.values())), first), strict=True))
    wanted |= {name: BY_HAND[name](*inputs(features[name][2])) for name in BY_HAND}
    got = RUNS[language][0](module_of(list(features.values())), given)
    for name, result in zip(features, got, strict=True):
        # A rounding of a half is 2^-11 or 2^-8; exp is off by some ulp of f32.
        rtol = {"halves": 1e-3, "bf16": 8e-3}.get(name, 1e-6)
        a, b = (np.asarray(array).astype(np.float64) for array in (result, wanted[name]))
        a = np.where(np.isnan(b), np.nan, a)  # what no thread has written
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6, err_msg=name)
