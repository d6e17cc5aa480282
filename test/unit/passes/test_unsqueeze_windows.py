# ruff: noqa: E501  (lines of IR)
import pytest
from onnx import numpy_helper, parser
from onnx_text import in_onnxruntime, relative_error
from programs import assert_close, normal, op_names, program

import nn_opt
from nn_opt.passes.unsqueeze_windows import UnsqueezeWindowsPass

CHAIN = """
func.func @main(%x: tensor<2x4x19xf32>, %r: tensor<4x1xf32>) -> tensor<2x6x5xf32> {
  %w = graph.constant #graph.resource<"w"> : tensor<6x2x3xf32>
  %b = graph.constant #graph.resource<"b"> : tensor<6xf32>
  %m = graph.mul %x, %r : (tensor<2x4x19xf32>, tensor<4x1xf32>) -> tensor<2x4x19xf32>
  %c = graph.conv %m, %w, %b strides [2] pads [0, 2] dilations [2] group 2 : (tensor<2x4x19xf32>, tensor<6x2x3xf32>, tensor<6xf32>) -> tensor<2x6x9xf32>
  %t = graph.tanh %c : tensor<2x6x9xf32>
  %s = graph.sub %t, %c : (tensor<2x6x9xf32>, tensor<2x6x9xf32>) -> tensor<2x6x9xf32>
  %p = graph.pool %s kind "KIND" kernel [3] strides [2] pads [1, 1] dilations [1] MORE : (tensor<2x6x9xf32>) -> tensor<2x6x5xf32>
  func.return %p : tensor<2x6x5xf32>
}"""


@pytest.mark.parametrize(
    ("kind", "more"),
    [("average", ""), ("average", "count_include_pad"), ("max", "ceil_mode"), ("lp", "p 3")],
)
def test_a_chain_of_signals_computes_the_same_as_images(kind: str, more: str):
    text = CHAIN.replace("KIND", kind).replace("MORE", more)
    module = program(text, w=normal(6, 2, 3), b=normal(6, seed=1))
    assert_close(module, UnsqueezeWindowsPass())
    names = op_names(module)
    assert names.count("graph.reshape") == 2, "one at each end"


def test_weights_known_at_run_time_are_reshaped():
    text = """
func.func @main(%x: tensor<1x3x8xf32>, %w: tensor<5x3x3xf32>) -> tensor<1x5x6xf32> {
  %c = graph.conv %x, %w strides [1] pads [0, 0] dilations [1] group 1 : (tensor<1x3x8xf32>, tensor<5x3x3xf32>) -> tensor<1x5x6xf32>
  func.return %c : tensor<1x5x6xf32>
}"""
    module = program(text)
    assert_close(module, UnsqueezeWindowsPass())
    assert op_names(module).count("graph.reshape") == 3


def test_a_compiled_signal_has_channels_in_blocks():
    model = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
signal (float[3,35,21] x, float[40,35,5] w, float[40] b) => (float[3,40,11] y) {
  c = Conv<pads = [2, 2], strides = [2]>(x, w, b)
  y = Relu(c)
}""")
    del model.graph.input[1:]
    weights = {"w": normal(40, 35, 5), "b": normal(40, seed=1)}
    model.graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in weights.items())
    x = normal(3, 35, 21, seed=2)
    compiled = nn_opt.compile(model, cache=False)
    assert relative_error(compiled.run({"x": x})["y"], in_onnxruntime(model, {"x": x})[0]) < 1e-6
    assert 'layout "NCHW' in compiled.ir("graph")
