"""One small program for each kind of kernel that a GPU has a schedule for, but for products."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.ir.target import set_target
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.pipelines import expand


@dataclass(frozen=True)
class Kind:
    """A program: types of %a, %b, ..., lines, the last of which makes %y, and the type of that."""

    inputs: tuple[str, ...]
    lines: str
    result: str

    def text(self, name: str = "main") -> str:
        """Return the function."""
        return program({name: self}, name)


def kind(inputs: str, lines: str, result: str) -> Kind:
    return Kind(tuple(inputs.split()), lines, result)


def unary(op: str, shape: str) -> Kind:
    return kind(shape, f"%y = graph.{op} : {t(shape)}", shape)


def change(op: str, inputs: str, result: str) -> Kind:
    """Return a program of one op, whose types are printed as a function's."""
    types = ", ".join(t(each) for each in inputs.split())
    return kind(inputs, f"%y = graph.{op} : ({types}) -> {t(result)}", result)


def t(shape: str) -> str:
    """Return the tensor type of `2x3`, of `2x3xi64`, or of `f32`."""
    known = re.fullmatch(r"[0-9x]*", shape)
    return f"tensor<{shape}{'xf32' if known and shape else ''}>"


LAYER_NORM = """
  %m = graph.reduce %a kind "mean" axes [1] keepdims : (tensor<70x40xf32>) -> tensor<70x1xf32>
  %d = graph.sub %a, %m : (tensor<70x40xf32>, tensor<70x1xf32>) -> tensor<70x40xf32>
  %q = graph.mul %d, %d : (tensor<70x40xf32>, tensor<70x40xf32>) -> tensor<70x40xf32>
  %v = graph.reduce %q kind "mean" axes [1] keepdims : (tensor<70x40xf32>) -> tensor<70x1xf32>
  %e = graph.constant dense<1.0e-5> : tensor<f32>
  %w = graph.add %v, %e : (tensor<70x1xf32>, tensor<f32>) -> tensor<70x1xf32>
  %s = graph.sqrt %w : tensor<70x1xf32>
  %n = graph.div %d, %s : (tensor<70x40xf32>, tensor<70x1xf32>) -> tensor<70x40xf32>
  %y = graph.mul %n, %b : (tensor<70x40xf32>, tensor<40xf32>) -> tensor<70x40xf32>"""
ATTENTION = """
  %s = graph.matmul %a, %b : (tensor<2x9x8xf32>, tensor<2x8x32xf32>) -> tensor<2x9x32xf32>
  %f = graph.constant dense<0.25> : tensor<f32>
  %u = graph.mul %s, %f : (tensor<2x9x32xf32>, tensor<f32>) -> tensor<2x9x32xf32>
  %w = graph.softmax %u axis -1 : tensor<2x9x32xf32>
  %y = graph.matmul %w, %c : (tensor<2x9x32xf32>, tensor<2x32x12xf32>) -> tensor<2x9x12xf32>"""
TURNED = """
  %r = graph.relu %a : tensor<18x1x40xf32>
  %y = graph.transpose %r perm [1, 2, 0] : (tensor<18x1x40xf32>) -> tensor<1x40x18xf32>"""
BLOCKS = """
  %s = graph.constant dense<0.25> : tensor<4x6xf32>
  %y = graph.block_matmul %a, %b, %s block 16 bits 4
    : (tensor<1x64xf32>, tensor<32x6xui8>, tensor<4x6xf32>) -> tensor<1x6xf32>"""
MAX_POOL = 'pool %a kind "max" kernel [3, 2] strides [2, 1] pads [1, 0, 1, 0] dilations [1, 1]'
MEAN_POOL = 'pool %a kind "average" kernel [7, 6] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]'
RESIZE = (
    'resize %a mode "linear" coordinate "half_pixel" nearest_mode "floor" scales [2.0, 1.5]'
    " cubic_coeff -0.75 extrapolation 0.0"
)
KINDS: dict[str, Kind] = {
    "elementwise": unary("tanh %a", "13x7"),
    "vectors": change("add %a, %b", "40x128 128", "40x128"),
    "broadcast": change("mul %a, %b", "5x1x7 3x1", "5x3x7"),
    "integers": change("add %a, %b", "4x9xi32 9xi32", "4x9xi32"),
    "rows": change('reduce %a kind "sum" axes [1]', "80x50", "80"),
    "columns": change('reduce %a kind "max" axes [0] keepdims', "50x40", "1x40"),
    "statistics": change('reduce %a kind "mean" axes [0, 2] keepdims', "3x4x35", "1x4x1"),
    "long sums": change('reduce %a kind "l2" axes [1, 2]', "2x200x170", "2"),
    "whole": change('reduce %a kind "min" axes [0]', "33000", "f32"),
    "softmax": unary("softmax %a axis 1", "6x100"),
    "short rows": unary("softmax %a axis 1", "300x10"),
    "softmax of rows at once": unary("softmax %a axis 1", "256x33"),
    "softmax across": unary("softmax %a axis 1", "2x40x9"),
    "softmax across pairs of rows": unary("softmax %a axis 1", "24x33x6"),
    "softmax of channels": unary("log_softmax %a axis 1", "1x5x8x9"),
    "softmax of too long rows": unary("softmax %a axis 1", "2x4500"),
    "layer norm": kind("70x40 40", LAYER_NORM, "70x40"),
    "first of greatest": change('arg_reduce %a kind "max" axis 1', "7x100", "7xi64"),
    "last of least": change('arg_reduce %a kind "min" axis 0 select_last', "9x3", "3xi64"),
    "running sums": unary("cumsum %a axis 1", "3x100"),
    "running products": unary("cumprod %a axis 1", "3x100"),
    "few running sums": unary("cumsum %a axis 0 exclusive reverse", "20x3"),
    "row by weights in blocks": kind("1x64 32x6xui8", BLOCKS, "1x6"),
    "max pool": change(MAX_POOL, "1x3x9x8", "1x3x5x7"),
    "global pool": change(MEAN_POOL, "2x3x7x6", "2x3x1x1"),
    "transpose": change("transpose %a perm [0, 2, 1]", "2x40x37", "2x37x40"),
    "transpose of one axis and none": kind("18x1x40", TURNED, "1x40x18"),
    "channels last": change("transpose %a perm [0, 2, 3, 1]", "1x17x5x4", "1x5x4x17"),
    "concat": change("concat %a, %b axis 1", "3x4 3x5", "3x9"),
    "pad": change('pad %a pads [1, 2, 0, 1] mode "reflect"', "5x6", "6x9"),
    "slice": change("slice %a starts [4, 1] sizes [3, 2] steps [-2, 2]", "5x6", "3x2"),
    "resize": change(RESIZE, "4x6", "8x9"),
    "gather": change("gather %a, %b axis 0", "5x6 4xi64", "4x6"),
    "scatter": change('scatter_nd %a, %b, %c reduction "add"', "6x3 5x1xi64 5x3", "6x3"),
    "attention": kind("2x9x8 2x8x32 2x32x12", ATTENTION, "2x9x12"),
}


def program(kinds: Mapping[str, Kind], name: str = "main") -> str:
    """Return one function of all programs side by side."""
    arguments, body, results, types = [], [], [], []
    for number, each in enumerate(kinds.values()):
        given = zip("abcdef", each.inputs, strict=False)
        arguments += [f"%{letter}_{number}: {t(shape)}" for letter, shape in given]
        body.append(re.sub(r"%(\w+)", rf"%\1_{number}", each.lines))
        results.append(f"%y_{number}")
        types.append(t(each.result))
    lines = "\n  ".join(body)
    returned = f"func.return {', '.join(results)} : {', '.join(types)}"
    return (
        f"func.func @{name}({', '.join(arguments)}) -> ({', '.join(types)}) {{\n"
        f"  {lines}\n  {returned}\n}}\n"
    )


def inputs_of(text: str) -> list[Array]:
    """Return seeded arrays for @main: normal floats, small indices, any bytes."""
    main = parse_module(make_context(), text, "kind.mlir").body.block.first_op
    assert isinstance(main, FuncOp)
    rng = np.random.default_rng(3)
    arrays: list[Array] = []
    for type_ in main.function_type.inputs:
        dtype = numpy_dtype(element_type(type_))
        values = rng.standard_normal(shape_of(type_))
        spread = {"i": np.abs(values) * 2, "u": np.floor(values * 50) % 256}
        arrays.append(spread.get(dtype.kind, values).astype(dtype))
    return arrays


def lowered(text: str, pipelines: str, target: str = "opencl") -> ModuleOp:
    """Return a program after fusion and the given pipelines."""
    ctx = make_context()
    module = parse_module(ctx, text, "kind.mlir")
    set_target(module, target)
    for name in ("optimize-graph", *pipelines.split()):
        for step in expand(name):
            step.apply(ctx, module)
    module.verify()
    return module
