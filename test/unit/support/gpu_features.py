"""What kernels have beyond scalars: bodies of kernels, and the languages that have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from one_kernel import CUDA
from xdsl.dialects.builtin import ModuleOp

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import verify

Feature = tuple[tuple[str, ...], str, list[str]]
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
    "tiles of vectors": (
        ALL,
        '%t = gpu.thread_id x\n%s = loop.alloc "s" : memref<2x4xf32, "register">\n'
        "%c = arith.constant dense<0.5> : vector<4xf32>\nloop.if (7 - %t >= 0) {\n"
        '%v = loop.load %x0[4 * %t] : memref<32xf32>, vector<4xf32>\n'
        'loop.store %v, %s[0, 0] : memref<2x4xf32, "register">, vector<4xf32>\n'
        'loop.store %c, %s[1, 0] : memref<2x4xf32, "register">, vector<4xf32>\n'
        '%a = loop.load %s[0, 0] : memref<2x4xf32, "register">, vector<4xf32>\n'
        '%b = loop.load %s[1, 0] : memref<2x4xf32, "register">, vector<4xf32>\n'
        "%d = math.fma %a, %b, %a : vector<4xf32>\n"
        'loop.store %d, %s[0, 0] : memref<2x4xf32, "register">, vector<4xf32>\n'
        '%e = loop.load %s[0, 0] : memref<2x4xf32, "register">, vector<4xf32>\n'
        "%f = arith.addf %e, %a : vector<4xf32>\n"
        "loop.store %f, %x1[4 * %t] : memref<32xf32>, vector<4xf32>\n}",
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
    **{
        f"atomic {kind}": (
            ALL if kind not in ("maxu", "minu") else ALL[:3],
            NUMBERS + '%s = loop.alloc "s" : memref<4xi32, "shared">\n'
            + "loop.if (3 - %t >= 0) {\n%z = arith.constant 5 : i32\n"
            + 'loop.store %z, %s[%t] : memref<4xi32, "shared">\n}\ngpu.barrier\n'
            + f'%o = gpu.atomic {kind} %v, %s[%t mod 4] : memref<4xi32, "shared">\n'
            + 'gpu.barrier\n%r = loop.load %s[%t mod 4] : memref<4xi32, "shared">' + STORE_I,
            I32,
        )
        for kind in ("addi", "maxs", "mins", "maxu", "minu", "andi", "ori", "xori")
    },
    **{
        f"atomic {kind}": (
            ALL[:3],
            LANES + '%s = loop.alloc "s" : memref<2xf32, "shared">\n'
            + "loop.if (1 - %t >= 0) {\n%z = arith.constant 0.5 : f32\n"
            + 'loop.store %z, %s[%t] : memref<2xf32, "shared">\n}\ngpu.barrier\n'
            + f'%o = gpu.atomic {kind} %v, %s[%t mod 2] : memref<2xf32, "shared">\n'
            + 'gpu.barrier\n%r = loop.load %s[%t mod 2] : memref<2xf32, "shared">' + STORE,
            F32,
        )
        for kind in ("addf", "maximumf", "minimumf", "maxnumf", "minnumf")
    },
    "asynchronous copies": (
        ALL,
        '%t = gpu.thread_id x\n%s = loop.alloc "s" : memref<32xf32, "shared">\n'
        "loop.if (7 - %t >= 0) {\ngpu.async_copy 4 %x0[4 * %t] to %s[4 * %t]"
        ' : memref<32xf32> to memref<32xf32, "shared">\n}\n'
        "gpu.async_commit\ngpu.async_wait 0\ngpu.barrier\n"
        '%r = loop.load %s[31 - %t] : memref<32xf32, "shared">' + STORE,
        F32,
    ),
    "fragments": (
        ("cuda",),
        "%c0 = arith.constant 0 : index\n%z = arith.constant 0.0 : f32\n"
        "%a = gpu.subgroup_mma_load_matrix %x0[%c0, %c0] {leadDimension = 32 : index}"
        ' : memref<16x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">\n'
        "%b = gpu.subgroup_mma_load_matrix %x1[%c0, %c0] {leadDimension = 16 : index}"
        ' : memref<32x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">\n'
        '%s = gpu.subgroup_mma_constant_matrix %z : !gpu.mma_matrix<16x16xf32, "COp">\n'
        '%p = gpu.subgroup_mma_compute %a, %b, %s : !gpu.mma_matrix<16x16xf16, "AOp">,'
        ' !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">\n'
        '%q = gpu.subgroup_mma_elementwise negatef %p : (!gpu.mma_matrix<16x16xf32, "COp">)'
        ' -> !gpu.mma_matrix<16x16xf32, "COp">\n'
        "gpu.subgroup_mma_store_matrix %q, %x2[%c0, %c0] {leadDimension = 16 : index}"
        ' : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>',
        ["16x32xf16", "32x16xf16", "16x16xf32"],
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
        *shape, element = type_.split("x")
        count = prod(map(int, shape))
        if element == "i64":
            made.append(rng.integers(-2, 18, count))
        elif element[0] == "i":
            made.append(rng.integers(-100, 100, count).astype(f"int{element[1:]}"))
        else:
            values = np.float32(rng.integers(-20, 20, count) / 8)  # sums are exact
            made.append(values.astype(_float(element)))
    return [a.reshape(*map(int, t.split("x")[:-1])) for a, t in zip(made, types, strict=False)]


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
    "fragments": lambda a, b: -(a[:, :16].astype(np.float64) @ b[:16].astype(np.float64)),
    "eight lanes": eight_lanes,
    "views, tables, copies": views,
    "gathers": gathers,
}


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
