# ruff: noqa: E501  (lines of IR)
from dataclasses import dataclass

import numpy as np
import pytest
from programs import apply, assert_same, program
from xdsl.dialects.builtin import ModuleOp

from nn_opt.compiler import compile
from nn_opt.dialects import graph
from nn_opt.ir.remarks import collect_remarks
from nn_opt.passes.canonicalize import CanonicalizePass
from nn_opt.passes.fuse_ops import FuseOpsPass
from nn_opt.passes.outline_kernels import OutlineKernelsPass
from nn_opt.reference import entry_function

T = "tensor<4x6xf32>"
LAYER_NORM = f"""
func.func @main(%x: {T}, %r: {T}) -> {T} {{
  %six = graph.constant dense<2.0> : tensor<f32>
  %eps = graph.constant dense<1.0e-5> : tensor<f32>
  %h = graph.add %x, %r : ({T}, {T}) -> {T}
  %mean = graph.reduce %h kind "mean" axes [1] keepdims : ({T}) -> tensor<4x1xf32>
  %d = graph.sub %h, %mean : ({T}, tensor<4x1xf32>) -> {T}
  %s = graph.pow %d, %six : ({T}, tensor<f32>) -> {T}
  %v = graph.reduce %s kind "mean" axes [1] keepdims : ({T}) -> tensor<4x1xf32>
  %e = graph.add %v, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %q = graph.sqrt %e : tensor<4x1xf32>
  %y = graph.div %d, %q : ({T}, tensor<4x1xf32>) -> {T}
  func.return %y : {T}
}}"""
GELU = f"""
func.func @main(%x: {T}, %w: tensor<6x6xf32>, %b: tensor<6xf32>) -> {T} {{
  %root = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %m = graph.matmul %x, %w : ({T}, tensor<6x6xf32>) -> {T}
  %a = graph.add %m, %b : ({T}, tensor<6xf32>) -> {T}
  %c = graph.div %a, %root : ({T}, tensor<f32>) -> {T}
  %d = graph.erf %c : {T}
  %e = graph.add %d, %one : ({T}, tensor<f32>) -> {T}
  %f = graph.mul %a, %e : ({T}, {T}) -> {T}
  %y = graph.mul %f, %half : ({T}, tensor<f32>) -> {T}
  func.return %y : {T}
}}"""
G = "tensor<2x16xf32>"
H = "tensor<2x4xf32>"
LSTM = f"""
func.func @main(%h0: {H}, %c0: {H}, %xs: tensor<5x2x16xf32>, %w: tensor<4x16xf32>) -> ({H}, tensor<5x2x4xf32>) {{
  %hn, %cn, %ys = graph.scan (%h = %h0 : {H}, %c = %c0 : {H}) over (%x = %xs : tensor<5x2x16xf32>) -> ({H}, {H}, tensor<5x2x4xf32>) {{
    %m = graph.matmul %h, %w : ({H}, tensor<4x16xf32>) -> {G}
    %g = graph.add %m, %x : ({G}, {G}) -> {G}
    %i = graph.slice %g starts [0, 0] sizes [2, 4] steps [1, 1] : ({G}) -> {H}
    %f = graph.slice %g starts [0, 4] sizes [2, 4] steps [1, 1] : ({G}) -> {H}
    %o = graph.slice %g starts [0, 8] sizes [2, 4] steps [1, 1] : ({G}) -> {H}
    %k = graph.slice %g starts [0, 12] sizes [2, 4] steps [1, 1] : ({G}) -> {H}
    %si = graph.sigmoid %i : {H}
    %sf = graph.sigmoid %f : {H}
    %so = graph.sigmoid %o : {H}
    %tk = graph.tanh %k : {H}
    %p = graph.mul %sf, %c : ({H}, {H}) -> {H}
    %q = graph.mul %si, %tk : ({H}, {H}) -> {H}
    %n = graph.add %p, %q : ({H}, {H}) -> {H}
    %tn = graph.tanh %n : {H}
    %y = graph.mul %so, %tn : ({H}, {H}) -> {H}
    graph.yield %y, %n, %y : {H}, {H}, {H}
  }}
  func.return %hn, %ys : {H}, tensor<5x2x4xf32>
}}"""


def kernels(module: ModuleOp) -> list[list[str]]:
    """Return the op names of each region, constants and yields left out."""
    regions = [op for op in module.walk() if isinstance(op, graph.FusedOp)]
    skipped = graph.ConstantOp | graph.YieldOp
    return [
        [
            op.name.removeprefix("graph.")
            for op in fused.body.block.ops
            if not isinstance(op, skipped)
        ]
        for fused in regions
    ]


@dataclass
class Expected:
    text: str
    kernels: list[list[str]]


CASES = {
    "layer_norm": Expected(
        LAYER_NORM,
        [
            ["add", "reduce", "sub", "mul", "reduce", "add", "sqrt", "div"],
        ],
    ),
    "gelu": Expected(GELU, [["matmul", "add", "div", "erf", "add", "mul", "mul"]]),
    "lstm": Expected(
        LSTM,
        [
            ["matmul", "add"],
            ["slice", "slice", "slice", "sigmoid", "sigmoid", "tanh", "mul", "mul", "add"],
            ["slice", "sigmoid", "tanh", "mul"],
        ],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_kernels_of_known_programs(case: Expected):
    module = program(case.text)
    assert_same(module, CanonicalizePass(), FuseOpsPass())
    assert kernels(module) == case.kernels


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_no_kernel_is_deeper_than_asked(case: Expected, depth: int):
    module = program(case.text)
    assert_same(module, FuseOpsPass(max_depth=depth))
    assert max(map(len, kernels(module))) <= depth


def random_program(seed: int) -> str:
    """Return a program whose ops read any earlier values; all are 4x4, so anything may fuse."""
    rng = np.random.default_rng(seed)
    t, row = "tensor<4x4xf32>", "tensor<4x1xf32>"
    values = ["%x", "%y"]
    lines: list[str] = []
    for number in range(24):
        a, b = (values[int(i)] for i in rng.integers(max(0, len(values) - 6), len(values), 2))
        name = f"%v{number}"
        lines.append(
            [
                f"{name} = graph.add {a}, {b} : ({t}, {t}) -> {t}",
                f"{name} = graph.mul {a}, {b} : ({t}, {t}) -> {t}",
                f"{name} = graph.tanh {a} : {t}",
                f"{name} = graph.relu {a} : {t}",
                f"{name} = graph.matmul {a}, {b} : ({t}, {t}) -> {t}",
                f'{name} = graph.reduce {a} kind "max" axes [] keepdims : ({t}) -> {t}',
                f"{name} = graph.transpose {a} perm [1, 0] : ({t}) -> {t}",
                f"{name} = graph.softmax {a} axis 1 : {t}",
                f"{name} = graph.reshape {a} : ({t}) -> {t}",
                f"{name}r = graph.tanh {a} : {t}"
                f' {name}m = graph.reduce {name}r kind "mean" axes [1] keepdims : ({t}) -> {row}'
                f" {name}n = graph.exp {name}m : {row}"
                f" {name} = graph.sub {b}, {name}n : ({t}, {row}) -> {t}",
                f"{name}s = graph.slice {a} starts [0, 1] sizes [4, 1] steps [1, 1] : ({t}) -> {row}"
                f" {name}n = graph.sigmoid {name}s : {row}"
                f" {name}e = graph.expand {name}n : ({row}) -> {t}"
                f" {name} = graph.max {name}e, {b} : ({t}, {t}) -> {t}",
            ][int(rng.integers(11))]
        )
        values.append(name)
    returned = f"func.return {values[-1]}, {values[-3]} : {t}, {t}"
    return f"func.func @main(%x: {t}, %y: {t}) -> ({t}, {t}) {{{' '.join(lines)} {returned}}}"


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_keep_their_results(seed: int):
    module = program(random_program(seed))
    assert_same(module, FuseOpsPass(), OutlineKernelsPass())
    left = {op.name for op in entry_function(module).body.block.ops}
    assert left <= {"func.call", "graph.reshape", "func.return"}
    for kernel in module.ops:
        if kernel is not entry_function(module):
            anchors = (graph.MatmulOp, graph.ReduceOp, graph.SoftmaxOp)
            kinds = [type(op) for op in kernel.walk() if isinstance(op, anchors)]
            assert len(kinds) <= 1 or set(kinds) == {graph.ReduceOp}


def test_every_value_of_several_readers_is_explained():
    module = program(LAYER_NORM)
    with collect_remarks() as remarks:
        apply(module, FuseOpsPass())
    said: dict[str, str] = {}
    for remark in remarks:  # the first of each: what is done with the value
        said.setdefault(remark.operation, remark.text)
    # %h: 96 bytes kept: read 192, written 96, read thrice 288; recomputed: read 3 x 192. 0 saved.
    assert (
        said["graph.add"]
        == "kept in memory for 3 readers: 0 bytes of traffic against 48 operations"
    )
    # %d: kept: read 112, written 96, read twice 192; recomputed: read 2 x 112. 176 bytes saved.
    assert said["graph.sub"].startswith("computed again in each of 2 readers: 176 bytes")


@pytest.mark.parametrize("shape", [(4, 6), (3, 37, 100), (128, 768), (5, 2, 21)])
def test_compiled_layer_norm(shape: tuple[int, ...]):
    sizes, row = "x".join(map(str, shape)), "x".join(map(str, (*shape[:-1], 1)))
    text = LAYER_NORM.replace("4x6x", f"{sizes}x").replace("4x1x", f"{row}x")
    text = text.replace("axes [1]", f"axes [{len(shape) - 1}]")
    rng = np.random.default_rng(5)
    x, r = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    h = x.astype(np.float64) + r
    wanted = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-5)
    found = compile(program(text), cache=False)(x, r)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)


def test_a_concatenation_of_many_is_made_in_steps():
    parts, types = ", ".join(["%x", "%y"] * 40), ", ".join(["tensor<2x3xf32>"] * 80)
    text = f"""
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x240xf32> {{
      %r = graph.concat {parts} axis 1 : ({types}) -> tensor<2x240xf32>
      func.return %r : tensor<2x240xf32>
    }}"""
    module = program(text)
    apply(module, FuseOpsPass(), OutlineKernelsPass())
    kernels = [op for op in module.walk() if isinstance(op, graph.ConcatOp)]
    assert sorted(len(op.inputs) for op in kernels) == [3, 16, 32]  # both of 32 are one kernel
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    result = compile(program(text), cache=False)(x, y)
    np.testing.assert_array_equal(result, np.concatenate([x, y] * 40, 1))
