# ruff: noqa: E501  (lines of IR)
"""Winograd convolutions: where they are chosen, why not elsewhere, and what they compute."""

import numpy as np
import pytest
from programs import Array, apply, inputs_of, normal, program
from xdsl.dialects.builtin import ModuleOp

from nn_opt.dialects import graph
from nn_opt.ir.remarks import collect_remarks
from nn_opt.passes.choose_convolution import ChooseConvolutionPass
from nn_opt.passes.fold_constants import FoldConstantsPass
from nn_opt.reference import run


def blocked(
    size: int = 8,
    channels: int = 64,
    filters: int = 64,
    *,
    kernel: int = 3,
    stride: int = 1,
    dilation: int = 1,
    pad: int = 1,
) -> str:
    """Return a program of one blocked convolution."""
    fields = f"strides {[stride] * 2} pads {[pad] * 4} dilations {[dilation] * 2}"
    x, w = f"tensor<1x{channels // 16}x{size}x{size}x16xf32>", f"{filters // 16}x{channels // 16}"
    w = f"tensor<{w}x{kernel}x{kernel}x16x16xf32>"
    size = (size + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1
    y = f"tensor<1x{filters // 16}x{size}x{size}x16xf32>"
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = graph.constant #graph.resource<"w"> : {w}
  %y = graph.conv %x, %w {fields} group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : ({x}, {w}) -> {y}
  func.return %y : {y}
}}
"""


def weights(channels: int = 64, filters: int = 64, kernel: int = 3) -> Array:
    shape = (filters // 16, channels // 16, kernel, kernel, 16, 16)
    return (normal(*shape) / np.sqrt(kernel**2 * channels)).astype(np.float32)


def algorithms(module: ModuleOp) -> list[str]:
    convs = [op for op in module.walk() if isinstance(op, graph.ConvOp)]
    return [conv.algorithm.data if conv.algorithm else "direct" for conv in convs]


def chosen(text: str, w: Array, winograd: str = "auto") -> str:
    module = program(text, w=w)
    apply(module, ChooseConvolutionPass(winograd))  # pyright: ignore[reportArgumentType]
    (name,) = algorithms(module)
    return name


@pytest.mark.parametrize(
    ("winograd", "name"),
    [("off", "direct"), ("auto", "winograd4"), ("force2", "winograd2"), ("force4", "winograd4")],
)
def test_the_option_decides(winograd: str, name: str):
    assert chosen(blocked(28), weights(), winograd) == name


def test_many_weights_for_few_tiles_take_the_algorithm_with_fewer_weights():
    assert chosen(blocked(7, 512, 512), weights(512, 512)) == "winograd2"
    assert chosen(blocked(1, 512, 512), weights(512, 512)) == "direct"


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "pad"),
    [(3, 2, 1, 1), (3, 1, 2, 2), (1, 1, 1, 0), (5, 1, 1, 2)],
)
def test_other_windows_stay_direct(kernel: int, stride: int, dilation: int, pad: int):
    text = blocked(12, kernel=kernel, stride=stride, dilation=dilation, pad=pad)
    assert chosen(text, weights(kernel=kernel), "force4") == "direct"


def test_weights_known_at_run_time_stay_direct():
    text = blocked().replace('%w = graph.constant #graph.resource<"w"> :', "// ")
    text = text.replace(">) -> tensor", ">, %w: tensor<4x4x3x3x16x16xf32>) -> tensor", 1)
    assert chosen(text, weights(), "force4") == "direct"


def test_a_plain_convolution_stays_direct():
    text = """
func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %w = graph.constant #graph.resource<"w"> : tensor<16x16x3x3xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  func.return %y : tensor<1x16x8x8xf32>
}
"""
    assert chosen(text, normal(16, 16, 3, 3), "force4") == "direct"


def test_the_remark_gives_the_times():
    module = program(blocked(28), w=weights())
    with collect_remarks() as remarks:
        apply(module, ChooseConvolutionPass())
    (text,) = [remark.text for remark in remarks]
    assert text.startswith("winograd4: direct ")
    assert "winograd2 " in text


@pytest.mark.parametrize("size", [1, 7, 8, 13])
@pytest.mark.parametrize("winograd", ["force2", "force4"])
def test_the_numbers_stay_and_weights_fold(winograd: str, size: int):
    module = program(blocked(size, 32, 16), w=weights(32, 16))
    arrays = inputs_of(module)
    (before,) = run(module, arrays)
    apply(module, ChooseConvolutionPass(winograd), FoldConstantsPass())  # pyright: ignore[reportArgumentType]
    assert not any(isinstance(op, graph.WinogradWeightsOp) for op in module.walk())
    (after,) = run(module, arrays)
    # float64 but for the transformed weights, which are rounded to float32 once
    np.testing.assert_allclose(after, before, rtol=0, atol=5e-6)
