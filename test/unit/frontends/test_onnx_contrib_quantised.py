"""A quantised network, as onnxruntime writes it when it has optimised it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_rows import noise
from onnx_text import at_graph_level, in_onnxruntime, parse
from test_onnx_contrib import random, scale, u8

import nn_opt

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


# Halves and quarters, so that many results lie halfway between two: an odd zero point says which.
TIES = {
    "QLinearAdd": "y = com.microsoft.QLinearAdd(a, s, z, b, t, w, t, w)",
    "QLinearMul": "y = com.microsoft.QLinearMul(a, s, z, b, t, w, r, w)",
    "QLinearAveragePool": "y = com.microsoft.QLinearAveragePool"
    "<kernel_shape = [2], strides = [2]>(a, s, z, s, w)",
    "ceil_mode": "y = com.microsoft.QLinearAveragePool<kernel_shape = [3], strides = [2],"
    " pads = [1, 1], ceil_mode = 1, count_include_pad = 1>(a, s, z, s, w)",
    "QLinearGlobalAveragePool": "y = com.microsoft.QLinearGlobalAveragePool(a, s, z, s, w)",
    "QLinearLeakyRelu": "y = com.microsoft.QLinearLeakyRelu<alpha = 0.5>(a, s, z, t, w)",
    "QLinearSigmoid": "y = com.microsoft.QLinearSigmoid(a, s, z, s, w)",
    "QLinearSoftmax": "y = com.microsoft.QLinearSoftmax<axis = -1, opset = 13>(a, q, z, p, n)",
    "QLinearConcat": "y = com.microsoft.QLinearConcat<axis = 1>(t, w, a, s, z, b, t, w)",
    "QLinearWhere": "c = Less(a, b) y = com.microsoft.QLinearWhere(c, a, s, z, b, t, w, t, w)",
}


@pytest.mark.parametrize("operator", TIES)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_ties_are_rounded_as_onnxruntime_does(operator: str, dtype: type) -> None:
    kind, odd = np.dtype(dtype).name, 5
    text = f"g ({kind}[2, 30, 64] a, {kind}[2, 30, 64] b) => ({kind}[] y) {{ {TIES[operator]} }}"
    scales = {"s": 0.5, "t": 0.25, "r": 32, "p": 1 / 255, "q": 0.05}
    weights = {name: scale(value) for name, value in scales.items()}
    weights |= {n: np.asarray(v, dtype) for n, v in {"z": 8, "w": odd, "n": 0}.items()}
    model = parse(text, 17, weights, {"com.microsoft": 1})
    limits, draw = np.iinfo(dtype), np.random.default_rng(7).integers
    inputs = {n: draw(limits.min, limits.max + 1, (2, 30, 64)).astype(dtype) for n in "ab"}
    (want,) = in_onnxruntime(model, inputs)
    got = nn_opt.compile(model, cache=False).run(inputs)["y"]
    assert got.dtype == want.dtype
    away = np.abs(got.astype(np.int32) - want)
    assert away.max() <= 1
    assert np.count_nonzero(away) <= (2 if operator == "QLinearSoftmax" else 0)
