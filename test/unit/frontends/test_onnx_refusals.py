"""Nodes that contradict the specification or their operands: what the importer says of each."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_text import parse

from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError

CONSTANTS = {
    "zeros": np.int64([0, 0, 0]),
    "open": np.int64([-1, -1]),
    "two": np.int64([2, 2]),
    "three": np.int64([3]),
    "zero": np.int64(0),
    "one": np.int64(1),
    "ten": np.int64(10),
    "far": np.int64(2**40),
    "half": np.float32(0.5),
    "on": np.asarray(True),
    "none": np.float32([]),
    "double": np.float32([2, 2]),
    "doubles": np.float32([1, 1, 2, 2]),
    "wide": np.int64([1, 1, 2**30, 2**30]),
    "theta": np.zeros((1, 2, 3), np.float32),
    "image": np.zeros((1, 1, 4, 4), np.float32),
    "filter": np.zeros((1, 1, 3, 3), np.float32),
    "sequence": np.zeros((4, 1, 3), np.float32),
    "inner": np.zeros((1, 8, 3), np.float32),
    "outer": np.zeros((1, 7, 2), np.float32),
}
CROP = 'coordinate_transformation_mode = "tf_crop_and_resize"'
REFUSALS = {
    ('y = Einsum<equation = "ij,jk->ik">(x)', 17): "Einsum: 2 terms for 1 operands",
    ('y = Einsum<equation = "ijk->ik">(x)', 17): (
        "Einsum: terms ['ijk'] do not fit operands of ranks [2]"
    ),
    ("y = Reshape(x, zeros)", 17): (
        "Reshape: shape [0, 0, 0] copies a size that [2, 3] does not have"
    ),
    ("y = Reshape(x, open)", 17): "Reshape: shape [-1, -1] leaves more than one size open",
    ("a, y = Split(x, two)", 17): "Split: parts [2, 2] do not make up axis 0 of [2, 3]",
    ("y = Slice<starts = [0], ends = [1, 2]>(x)", 9): (
        "Slice: starts [0], ends [1, 2], axes [0], steps [1] do not match"
    ),
    ("y = Pad(x, three)", 17): "Pad: pads [3] do not give two numbers for each of axes [0, 1]",
    ("y = DepthToSpace<blocksize = 2>(x)", 17): (
        "DepthToSpace: operand 0 has shape [2, 3], expected [N, C, H, W]"
    ),
    ("y = Conv<strides = [1]>(image, filter)", 17): (
        "Conv: strides [1], dilations [1, 1] do not fit 2 spatial axes"
    ),
    ("y = HannWindow<output_datatype = 8>(ten)", 17): (
        "unsupported HannWindow: output_datatype: elements of string"
    ),
    ('y = Concat<axis = 0>(x, "")', 17): "Concat: operand 1 is missing",
    ("y = Range(zero, far, one)", 17): "Range: a constant of 1099511627776 elements is absurd",
    ("y = Range(zero, ten, zero)", 17): "Range: delta is zero",
    ("y = AffineGrid(theta, wide)", 20): (
        "AffineGrid: a constant of 3458764513820540928 elements is absurd"
    ),
    ("y = Resize(image, none, double)", 17): (
        "Resize: scales [2.0, 2.0] do not fit axes [0, 1, 2, 3]"
    ),
    (f"y = Resize<{CROP}>(image, none, doubles)", 17): (
        "Resize: roi [] does not fit axes [0, 1, 2, 3]"
    ),
    ("y = Upsample(image, double)", 9): "Upsample: scales [2.0, 2.0] do not fit rank 4",
    ("h, y = GRU<hidden_size = 2>(sequence, inner, outer)", 17): (
        "GRU: R has 7 rows a direction, expected 3 * 2"
    ),
    ("y = Constant()", 17): "Constant: no value is given",
    ("y = BitCast<to = 7>(x)", 26): "BitCast: f32 and i64 have different numbers of bits",
}


@pytest.mark.parametrize(("nodes", "opset"), REFUSALS)
def test_the_reason_is_said(nodes: str, opset: int) -> None:
    model = parse(f"g (float[2,3] x) => (float[] y) {{ {nodes} }}", opset, CONSTANTS)
    with pytest.raises(DiagnosticError) as error:
        import_model(model)
    assert str(error.value).startswith("g: error: node '")
    assert f"_0': {REFUSALS[nodes, opset]}" in str(error.value)


def test_node_and_operator_are_named() -> None:
    text = "g (float[2] x) => (string[] y) { y = HannWindow<output_datatype = 8>(ten) }"
    with pytest.raises(DiagnosticError) as error:
        import_model(parse(text, 17, CONSTANTS))
    problem = "node 'HannWindow_0': unsupported HannWindow: output_datatype: elements of string"
    assert str(error.value) == f"g: error: {problem}"
