"""A small kernel of each kind that default schedules know, all in one model: one compilation.

Sizes are tiny and odd, so that tiles have tails, and large enough that blocks have several warps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Kind:
    """One kernel: inputs and the output with their types, and nodes; `$` stands for the name."""

    inputs: str
    output: str
    nodes: str


def _image(shape: str, weights: str, output: str, attributes: str, more: str = "") -> Kind:
    nodes = f"$a = Conv<{attributes}>($x, $w)\n{more or '$y = Relu($a)'}"
    return Kind(f"float[{shape}] $x, float[{weights}] $w", f"float[{output}]", nodes)


SAME = "pads=[1,1,1,1]"
KINDS: dict[str, Kind] = {
    "elementwise": Kind(
        "float[3,5,37] $x, float[5,1] $b",
        "float[3,5,37]",
        "$a = Add($x, $b)\n$c = Sigmoid($a)\n$y = Mul($a, $c)",
    ),
    "transpose": Kind("float[9,4,35] $x", "float[35,9,4]", "$y = Transpose<perm=[2,0,1]>($x)"),
    "row_sum": Kind("float[6,150] $x", "float[6]", "$y = ReduceMean<axes=[1], keepdims=0>($x)"),
    "column_max": Kind("float[50,7] $x", "float[7]", "$y = ReduceMax<axes=[0], keepdims=0>($x)"),
    "total": Kind("float[4,9,31] $x", "float[1,1,1]", "$y = ReduceL2<keepdims=1>($x)"),
    "softmax": Kind("float[5,77] $x", "float[5,77]", "$y = Softmax<axis=1>($x)"),
    "layer_norm": Kind(
        "float[3,70] $x, float[70] $s, float[70] $b",
        "float[3,70]",
        "$y = LayerNormalization<axis=1>($x, $s, $b)",
    ),
    "matmul": Kind(
        "float[37,29] $x, float[29,41] $w, float[41] $b",
        "float[37,41]",
        "$a = MatMul($x, $w)\n$c = Add($a, $b)\n$y = Tanh($c)",
    ),
    "matmul_batch": Kind(
        "float[3,17,33] $x, float[3,33,9] $w", "float[3,17,9]", "$y = MatMul($x, $w)"
    ),
    "vector_matmul": Kind("float[1,90] $x, float[90,70] $w", "float[1,70]", "$y = MatMul($x, $w)"),
    "conv": _image("1,5,9,11", "10,5,3,3", "1,10,9,11", SAME),
    "conv_stride": _image("2,4,11,9", "6,4,3,3", "2,6,6,5", f"{SAME}, strides=[2,2]"),
    "conv_1x1": _image("1,17,6,7", "12,17,1,1", "1,12,6,7", "strides=[1,1]"),
    "depthwise": _image("1,9,13,10", "9,1,3,3", "1,9,13,10", f"{SAME}, group=9"),
    "grouped": _image("1,8,7,7", "8,4,3,3", "1,8,7,7", f"{SAME}, group=2"),
    "max_pool": Kind(
        "float[1,6,13,15] $x",
        "float[1,6,7,8]",
        "$y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>($x)",
    ),
    "global_pool": Kind("float[2,7,9,8] $x", "float[2,7,1,1]", "$y = GlobalAveragePool($x)"),
    "attention": Kind(
        "float[2,19,12] $q, float[2,12,23] $k, float[2,23,12] $v",
        "float[2,19,12]",
        "$a = MatMul($q, $k)\n$b = Softmax<axis=2>($a)\n$y = MatMul($b, $v)",
    ),
    "concat": Kind("float[5,7] $x, float[5,6] $z", "float[5,13]", "$y = Concat<axis=1>($x, $z)"),
    "running_sum": Kind(
        "float[6,40] $x", "float[6,40]", "$n = Constant<value_int=1>()\n$y = CumSum($x, $n)"
    ),
}


@cache
def suite() -> onnx.ModelProto:
    """Return the model of all kinds; the output of a kind is its name and `_y`."""
    rows = [(f"{name}_", kind) for name, kind in KINDS.items()]
    inputs = ", ".join(kind.inputs.replace("$", name) for name, kind in rows)
    outputs = ", ".join(f"{kind.output} {name}y" for name, kind in rows)
    nodes = "\n".join(kind.nodes.replace("$", name) for name, kind in rows)
    head = '<ir_version: 10, opset_import: ["" : 17]>'
    return onnx.parser.parse_model(f"{head}\nkernels ({inputs}) => ({outputs}) {{\n{nodes}\n}}")


def feeds() -> dict[str, Array]:
    """Return an input for each kind."""
    rng = np.random.default_rng(0)
    shapes = {
        value.name: [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
        for value in suite().graph.input
    }
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def expected() -> dict[str, Array]:
    """Return what onnxruntime computes, by output."""
    session = onnxruntime.InferenceSession(suite().SerializeToString())
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds()), strict=True))


def assert_right(results: Mapping[str, Array] | list[Array]) -> None:
    """Compare with onnxruntime; sums are in another order."""
    wanted = expected()
    if not isinstance(results, Mapping):
        results = dict(zip(wanted, results, strict=True))
    for name, want in wanted.items():
        np.testing.assert_allclose(
            results[name].reshape(want.shape), want, rtol=1e-4, atol=1e-5, err_msg=name
        )
