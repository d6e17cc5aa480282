"""A quantised network, as onnxruntime writes it when it has optimised it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx_rows import noise
from onnx_text import at_graph_level, in_onnxruntime, parse
from test_onnx_contrib import random, scale, u8

QUANTISED = """
g (float[1,3,8,8] x) => (float[] y) {
  xq = QuantizeLinear(x, s, z)
  xd = DequantizeLinear(xq, s, z)
  w = DequantizeLinear(w8, s, n)
  a = Conv<pads = [1, 1, 1, 1]>(xd, w)
  aq = QuantizeLinear(a, s, z)
  ad = DequantizeLinear(aq, s, z)
  v = DequantizeLinear(v8, s, n)
  b = Conv<pads = [1, 1, 1, 1]>(ad, v)
  bq = QuantizeLinear(b, s, z)
  bd = DequantizeLinear(bq, s, z)
  c = Add(bd, ad)
  cq = QuantizeLinear(c, t, z)
  cd = DequantizeLinear(cq, t, z)
  k = Concat<axis = 1>(cd, cd)
  kq = QuantizeLinear(k, t, z)
  kd = DequantizeLinear(kq, t, z)
  g = GlobalAveragePool(kd)
  gq = QuantizeLinear(g, t, z)
  gd = DequantizeLinear(gq, t, z)
  l = Sigmoid(gd)
  lq = QuantizeLinear(l, r, z)
  y = DequantizeLinear(lq, r, z)
}"""


def test_a_quantised_network_that_onnxruntime_optimised(tmp_path: Path) -> None:
    """It writes what it makes of a network: images with channels last, additions of bytes, ..."""
    weights = {
        **{"s": scale(0.0217), "t": scale(0.0437), "r": scale(1 / 255), "z": u8(120)},
        "w8": random.integers(-60, 60, (8, 3, 3, 3)).astype(np.int8),
        "v8": random.integers(-40, 40, (8, 8, 3, 3)).astype(np.int8),
        "n": np.asarray(0, np.int8),
    }
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 4
    model = parse(QUANTISED, 13, weights)
    onnxruntime.InferenceSession(model.SerializeToString(), options)
    optimised = onnx.load(options.optimized_model_filepath)
    made = {node.op_type for node in optimised.graph.node if node.domain == "com.microsoft"}
    assert made >= {"QLinearConv", "QLinearAdd", "QLinearConcat", "QLinearSigmoid"}
    inputs = {"x": noise(1, 3, 8, 8)}
    (want,) = in_onnxruntime(optimised, inputs)
    for network in (model, optimised):
        np.testing.assert_array_equal(at_graph_level(network, inputs)[0], want)
