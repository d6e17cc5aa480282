"""Cases about numbers: opset semantics, integers, NaN, infinities, quantised arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from casebook import Array, Case, case, floats, int64s
from onnx_text import parse

NAN, INF = math.nan, math.inf
INT64_MAX = 2**63 - 1
INT32_MAX, INT32_MIN = 2**31 - 1, -(2**31)


@case("apache/tvm#20183, apache/tvm#19420, openvinotoolkit/openvino#37823")
def softmax_before_opset_13_sees_a_matrix() -> Case:
    model = parse("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }", 11)
    x = np.random.default_rng(1).standard_normal((2, 3, 4), np.float32)
    powers = np.exp(x.reshape(2, 12).astype(np.float64))
    expected = (powers / powers.sum(1, keepdims=True)).reshape(2, 3, 4)
    return Case(model, {"x": x}, [expected.astype(np.float32)])


@case("apache/tvm#18590, apache/tvm#20231")
def round_takes_ties_to_even_and_keeps_the_zero_s_sign() -> Case:
    model = parse("g (float[8] x) => (float[8] y) { y = Round(x) }")
    x = floats(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.0)
    want = floats(0, 2, 2, -0.0, -2, -2, 0, 8388609.0)
    return Case(model, {"x": x}, [want], signed_zeros=True)


@case("apache/tvm#20281, apache/tvm#19541")
def int64_division_truncates_and_is_exact_beyond_2_to_53() -> Case:
    weights = {"a": int64s(2**53 + 1, -7, 7, INT64_MAX), "b": int64s(1, 2, -2, 3)}
    text = "g (int64[4] x) => (int64[4] y) { q = Div(a, b)  y = Add(q, x) }"
    want = int64s(2**53 + 1, -3, -3, INT64_MAX // 3)
    return Case(parse(text, 14, weights), {"x": int64s(0, 0, 0, 0)}, [want])


@case("apache/tvm#20170, apache/tvm#6106")
def mod_follows_the_divisor_and_fmod_the_dividend() -> Case:
    a, b = int64s(-5, 5, -5, 6), int64s(3, -3, -3, 3)
    c, d = floats(-5.5, 5.5, -6.0, -0.0), floats(3, -3, 3, 3)
    text = """
    g (int64[4] zero, int64[4] a, float[4] c)
      => (int64[4] folded, int64[4] run, float[4] run_f, float[4] folded_f) {
      m = Mod(ka, kb)
      folded = Add(m, zero)
      run = Mod(a, kb)
      run_f = Mod<fmod = 1>(c, kd)
      f = Mod<fmod = 1>(kc, kd)
      folded_f = Identity(f)
    }"""
    whole, real = int64s(1, -1, -2, 0), floats(-2.5, 2.5, -0.0, -0.0)
    inputs = {"zero": int64s(0, 0, 0, 0), "a": a, "c": c}
    model = parse(text, 13, {"ka": a, "kb": b, "kc": c, "kd": d})
    return Case(model, inputs, [whole, whole, real, real])


@case("onnx/onnx#3637, openvinotoolkit/openvino#36178, openvinotoolkit/openvino#36179")
def integers_wrap() -> Case:
    text = """
    g (uint8[4] a, uint8[4] b, int32[2] p, int32[2] q)
      => (uint8[4] sum, uint8[4] difference, uint8[4] product, int32[2] wide, bool[2] above) {
      sum = Add(a, b)
      difference = Sub(a, b)
      product = Mul(a, b)
      wide = Add(p, q)
      above = Greater(wide, p)
    }"""
    a, b = (np.array(v, np.uint8) for v in ([200, 5, 255, 128], [100, 10, 10, 200]))
    p, q = (np.array(v, np.int32) for v in ([INT32_MAX, INT32_MIN], [1, -1]))
    bytes_ = [
        np.array(v, np.uint8) for v in ([44, 15, 9, 72], [100, 251, 245, 184], [32, 50, 246, 0])
    ]
    wide = np.array([INT32_MIN, INT32_MAX], np.int32)
    want = [*bytes_, wide, np.array([False, True])]
    return Case(parse(text, 14), {"a": a, "b": b, "p": p, "q": q}, want)


@case("apache/tvm#19542, onnx/onnx-mlir#2209")
def casts_cut_toward_zero_and_keep_low_bits() -> Case:
    text = """
    g (float[4] x, int32[4] k, float[4] b)
      => (int8[4] cut, int8[4] low, uint16[4] wide, bool[4] truth) {
      cut = Cast<to = 3>(x)
      low = Cast<to = 3>(k)
      wide = Cast<to = 4>(k)
      truth = Cast<to = 9>(b)
    }"""
    inputs = {
        "x": floats(2.9, -2.9, 0.99, -0.99),
        "k": np.array([300, -129, 255, 65543], np.int32),
        "b": floats(0.0, -0.0, NAN, 0.1),
    }
    want = [
        np.array([2, -2, 0, 0], np.int8),
        np.array([44, 127, -1, 7], np.int8),
        np.array([300, 65407, 255, 7], np.uint16),
        np.array([False, False, True, True]),
    ]
    return Case(parse(text, 13), inputs, want)


@case("apache/tvm#19572, apache/tvm#19540, microsoft/onnxruntime#21455")
def nan_passes_relu_max_min_and_clip() -> Case:
    text = """
    g (float[4] x, float[4] y) => (float[4] r, float[4] high, float[4] low, float[4] c) {
      r = Relu(x)
      high = Max(x, y)
      low = Min(x, y)
      c = Clip(x, from, to)
    }"""
    x, y = floats(NAN, 1, -2, 3), floats(7, NAN, -5, 0.5)
    want = [
        floats(NAN, 1, 0, 3),
        floats(NAN, NAN, -2, 3),
        floats(NAN, NAN, -5, 0.5),
        floats(NAN, 1, -1, 2),
    ]
    model = parse(text, 13, {"from": np.float32(-1), "to": np.float32(2)})
    return Case(model, {"x": x, "y": y}, want)


@case("apache/tvm#19572, onnx/onnx#4716")
def reductions_treat_nan_alike_wherever_it_stands() -> Case:
    text = """
    g (float[4,37] x) => (float[4] high, float[4] low) {
      high = ReduceMax<axes = [1], keepdims = 0>(x)
      low = ReduceMin<axes = [1], keepdims = 0>(x)
    }"""
    x = np.ones((4, 37), np.float32)
    x[range(4), [0, 18, 35, 36]] = NAN

    def agrees(outputs: Sequence[Array]) -> str:
        marks = np.isnan(np.stack(outputs))
        return "" if marks.all() or not marks.any() else f"NaN survives at some places: {marks}"

    return Case(parse(text, 13), {"x": x}, agrees=agrees)


@case("apache/tvm#19503, tile-ai/tilelang#2638, jax-ml/jax#12233")
def nothing_folds_to_zero_while_nan_is_possible() -> Case:
    text = """
    g (float[4] x, float[4] y) => (float[4] d, float[4] p, float[4] s) {
      a = Mul(x, inf)
      b = Mul(x, inf)
      d = Sub(a, b)
      p = Mul(y, zero)
      s = Sub(y, y)
    }"""
    model = parse(text, 13, {"inf": np.float32(INF), "zero": np.float32(0)})
    inputs = {"x": floats(1, 2, -1, 0), "y": floats(INF, NAN, 5, -INF)}
    rest = floats(NAN, NAN, 0, NAN)
    return Case(model, inputs, [floats(NAN, NAN, NAN, NAN), rest, rest])


@case("openxla/xla#42732, tensorflow/tensorflow#123169")
def inverse_functions_keep_the_overflow_between_them() -> Case:
    text = """
    g (float[2] x, float[2] big, float[2] a, float[2] b)
      => (float[2] back, float[2] root, float[2] product) {
      e = Exp(x)
      back = Log(e)
      square = Mul(big, big)
      root = Sqrt(square)
      ea = Exp(a)
      eb = Exp(b)
      product = Mul(ea, eb)
    }"""
    inputs = {
        "x": floats(1, 100),
        "big": floats(3, 3e25),
        "a": floats(0.5, 100),
        "b": floats(0.25, -120),
    }
    want = [floats(1, INF), floats(3, INF), floats(math.exp(0.75), NAN)]
    return Case(parse(text, 13), inputs, want)


@case("iree-org/iree#20803")
def subtraction_keeps_the_order_of_its_operands() -> Case:
    text = """
    g (float[3] x) => (float[3] down, float[3] up, float[3] inverse) {
      t = Add(x, one)
      down = Sub(x, t)
      up = Sub(t, x)
      inverse = Div(one, x)
    }"""
    want = [floats(-1, -1, -1), floats(1, 1, 1), floats(2, -0.5, 0.25)]
    return Case(parse(text, 14, {"one": np.float32(1)}), {"x": floats(0.5, -2, 4)}, want)


@case("iree-org/iree#24583")
def integer_matmul_subtracts_zero_points_of_rows_and_columns() -> Case:
    text = "g (uint8[2,3] a, uint8[3,2] b) => (int32[2,2] y) { y = MatMulInteger(a, b, za, zb) }"
    a = np.array([[11, 7, 3], [10, 6, 2]], np.uint8)
    b = np.array([[1, 4], [2, 5], [3, 6]], np.uint8)
    model = parse(text, 10, {"za": np.uint8(12), "zb": np.array([3, 5], np.uint8)})
    # [-1 -5 -9; -2 -6 -10] @ [-2 -1; -1 0; 0 1]
    want = np.array([[7, -8], [10, -8]], np.int32)
    return Case(model, {"a": a, "b": b}, [want])


@case("sonos/tract#2850, sonos/tract#2672, emmtrix/emx-onnx-cgen#371")
def quantisation_rounds_ties_to_even_before_the_zero_point() -> Case:
    text = """
    g (float[8] x) => (uint8[8] y, float[8] d) {
      y = QuantizeLinear(x, s, z)
      d = DequantizeLinear(y, s, z)
    }"""
    x = floats(0.25, 0.75, 1.25, 1.75, -0.25, -0.75, 1000, -1000)
    y = np.array([127, 129, 129, 131, 127, 125, 255, 0], np.uint8)
    d = floats(0, 1, 1, 2, 0, -1, 64, -63.5)
    return Case(parse(text, 13, {"s": np.float32(0.5), "z": np.uint8(127)}), {"x": x}, [y, d])


@case("apache/tvm#19541, Xilinx/onnx-mlir#105")
def integer_division_by_zero_does_not_kill_the_process() -> Case:
    text = """
    g (int32[3] a, int32[3] b) => (int32[3] r) {
      y = Div(a, b)
      q = Div(c, z)
      r = Add(y, q)
    }"""
    weights = {"c": np.array([1, 2, 3], np.int32), "z": np.array([0, 1, -1], np.int32)}
    inputs = {
        "a": np.array([7, INT32_MIN, 5], np.int32),
        "b": np.array([0, -1, 2], np.int32),
    }
    return Case(parse(text, 14, weights), inputs)
