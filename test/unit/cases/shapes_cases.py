"""Cases about indices and shapes: slices, gathers, windows, empty and symbolic sizes."""

from __future__ import annotations

import numpy as np
from casebook import Case, case, counted, floats, int64s
from onnx_text import parse

INT64_MIN = -(2**63)


@case("apache/tvm#19436, apache/tvm#19531, onnx/onnx-mlir#313, microsoft/onnxruntime#1533")
def gather_counts_negative_indices_from_the_end() -> Case:
    text = "g (float[3,4] x, int64[3] i) => (float[3,4] y) { y = Gather<axis = 0>(x, i) }"
    x = counted(3, 4)
    return Case(parse(text, 13), {"x": x, "i": int64s(-1, 0, -3)}, [x[[2, 0, 0]]])


@case("apache/tvm#20217, apache/tvm#20316")
def gather_nd_and_scatter_nd_take_negative_indices() -> Case:
    text = """
    g (float[3,4] x, int64[2,2] from, int64[2,1] to, float[2,4] new)
      => (float[2] a, float[3,4] b) {
      a = GatherND(x, from)
      b = ScatterND(x, to, new)
    }"""
    x, new = counted(3, 4), np.stack([floats(5, 6, 7, 8), floats(1, 2, 3, 4)])
    inputs = {"x": x, "from": int64s(-1, -1, 0, -2).reshape(2, 2), "new": new}
    inputs["to"] = int64s(-1, 0).reshape(2, 1)
    return Case(parse(text, 16), inputs, [floats(11, 2), np.stack([new[1], x[1], new[0]])])


@case("iree-org/iree#24584, microsoft/onnxruntime#11107, onnx/onnx#2433")
def slice_runs_backwards() -> Case:
    text = """
    g (float[10] x) => (float[] a, float[] b, float[] c) {
      a = Slice(x, nine, zero, axis, back)
      b = Slice(x, last, lowest, axis, back)
      c = Slice(x, nine, zero, axis, back3)
    }"""
    names = {"nine": 9, "zero": 0, "last": -1, "lowest": INT64_MIN}
    names |= {"axis": 0, "back": -1, "back3": -3}
    weights = {name: int64s(value) for name, value in names.items()}
    x = counted(10)
    want = [floats(9, 8, 7, 6, 5, 4, 3, 2, 1), x[::-1].copy(), floats(9, 6, 3)]
    return Case(parse(text, 13, weights), {"x": x}, want)


@case("apache/tvm#19532, tracel-ai/burn-onnx#477")
def slice_may_select_nothing() -> Case:
    text = """
    g (float[10] x) => (float[] c, int64[1] n) {
      z = Slice(x, from, to, axis, back)
      c = Concat<axis = 0>(z, x)
      n = Shape(z)
    }"""
    names = {"from": 0, "to": 5, "axis": 0, "back": -1}
    weights = {name: int64s(value) for name, value in names.items()}
    return Case(parse(text, 13, weights), {"x": counted(10)}, [counted(10), int64s(0)])


@case("iree-org/iree#24580, microsoft/onnxruntime#16203, pytorch/pytorch#183528")
def average_pool_counts_padding_but_nothing_beyond_it() -> Case:
    text = """
    g (float[1,1,4,4] x) => (float[1,1,3,3] y) {
      y = AveragePool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1],
                      ceil_mode = 1, count_include_pad = 1>(x)
    }"""
    x = counted(1, 1, 4, 4, start=1)
    padded = np.pad(x[0, 0], 1)  # rows -1 to 4; the third window has rows 3 and 4 alone
    cells = [
        [padded[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].mean() for j in range(3)] for i in range(3)
    ]
    return Case(parse(text, 19), {"x": x}, [np.asarray(cells, np.float32)[None, None]])


@case("microsoft/onnxruntime#24681")
def average_pool_same_lower_divides_by_the_whole_kernel() -> Case:
    text = """
    g (float[1,1,6,2] x) => (float[1,1,6,2] y) {
      y = AveragePool<kernel_shape = [4, 1], auto_pad = "SAME_LOWER", count_include_pad = 1>(x)
    }"""
    x = counted(1, 1, 6, 2)
    padded = np.pad(x[0, 0], ((2, 1), (0, 0)))  # the odd row of three goes above
    rows = [padded[i : i + 4].mean(0) for i in range(6)]
    return Case(parse(text, 19), {"x": x}, [np.asarray(rows, np.float32)[None, None]])


@case("microsoft/onnxruntime#4086, microsoft/onnxruntime#4698, openvinotoolkit/openvino#32608")
def transposed_convolution_of_same_size_cuts_the_right_side() -> Case:
    text = """
    g (float[1,1,3] x) => (float[1,1,6] up, float[1,1,6] low) {
      up = ConvTranspose<auto_pad = "SAME_UPPER", strides = [2], kernel_shape = [3]>(x, w)
      low = ConvTranspose<auto_pad = "SAME_LOWER", strides = [2], kernel_shape = [3]>(x, w)
    }"""
    whole = floats(1, 10, 102, 20, 203, 30, 300).reshape(1, 1, 7)
    model = parse(text, 11, {"w": floats(1, 10, 100).reshape(1, 1, 3)})
    want = [whole[..., :6].copy(), whole[..., 1:].copy()]
    return Case(model, {"x": floats(1, 2, 3).reshape(1, 1, 3)}, want)


@case("apache/tvm#19570, apache/tvm#19500")
def resize_uses_the_scale_as_given() -> Case:
    text = """
    g (float[1,1,3,3] x) => (float[] y) {
      y = Resize<mode = "nearest", coordinate_transformation_mode = "half_pixel",
                 nearest_mode = "round_prefer_floor">(x, , scales)
    }"""
    x = counted(1, 1, 3, 3)
    # (o + 0.5) / 2.5 - 0.5 = -0.3 0.1 0.5 0.9 1.3 1.7 2.1; the tie 0.5 goes down
    places = [0, 0, 0, 1, 1, 2, 2]
    want = x[:, :, places][:, :, :, places]
    return Case(parse(text, 13, {"scales": floats(1, 1, 2.5, 2.5)}), {"x": x}, [want])


@case("apache/tvm#19974")
def a_bound_computed_from_a_shape_stays_an_integer() -> Case:
    text = """
    g (float[n] x) => (float[] y) {
      s = Shape(x)
      d = Gather<axis = 0>(s, k)
      q = Div(d, three)
      e = Unsqueeze(q, axis)
      y = Slice(x, from, e, axis)
    }"""
    weights = {"k": np.int64(0), "three": np.int64(3), "axis": int64s(0), "from": int64s(0)}
    return Case(parse(text, 13, weights), {"x": counted(386)}, [counted(128)])


@case("microsoft/onnxruntime#8146, microsoft/onnxruntime#7563")
def reducing_nothing_gives_the_neutral_element() -> Case:
    text = """
    g (float[2,0,3] x) => (float[2,3] a, float[2,1,3] b, float[2,3] c) {
      a = ReduceSum<keepdims = 0>(x, axis)
      b = ReduceSum<keepdims = 1>(x, axis)
      c = ReduceProd<keepdims = 0>(x, axis)
    }"""
    zeros = np.zeros((2, 3), np.float32)
    want = [zeros, zeros[:, None], zeros + 1]
    model = parse(text, 18, {"axis": int64s(1)})
    return Case(model, {"x": np.zeros((2, 0, 3), np.float32)}, want)


@case("microsoft/onnxruntime#15203, microsoft/onnxruntime#28449")
def reshape_copies_fills_and_may_mean_zero() -> Case:
    text = """
    g (float[2,2,3,2] x, float[0,8,2] e) => (float[] a, float[] b) {
      a = Reshape(x, copy)
      b = Reshape<allowzero = 1>(e, real)
    }"""
    weights = {"copy": int64s(-1, 0, 0), "real": int64s(0, 0, 4)}
    x, empty = counted(2, 2, 3, 2), np.zeros((0, 8, 2), np.float32)
    want = [x.reshape(4, 2, 3), np.zeros((0, 0, 4), np.float32)]
    return Case(parse(text, 14, weights), {"x": x, "e": empty}, want)


@case("microsoft/onnxruntime#681, microsoft/onnxruntime#11024")
def empty_tensors_join_and_compute() -> Case:
    text = """
    g (float[m] a, float[k] b) => (float[] y, float[] z) {
      bb = Mul(b, two)
      y = Concat<axis = -1>(bb, a, b)
      z = Sqrt(bb)
    }"""
    a, b = floats(1, 2), floats()
    return Case(parse(text, 13, {"two": np.float32(2)}), {"a": a, "b": b}, [a, b])


@case("apache/tvm#20175, apache/tvm#20218")
def a_symbolic_size_that_is_one_broadcasts() -> Case:
    text = """
    g (float[n,4] x, float[2,4] y) => (float[] low, float[] sum) {
      low = Min(x, y)
      sum = Add(x, y)
    }"""
    x, y = floats(1, 9, 3, 9).reshape(1, 4), floats(2, 2, 2, 2, 0, 10, 0, 10).reshape(2, 4)
    low = floats(1, 2, 2, 2, 0, 9, 0, 9).reshape(2, 4)
    total = floats(3, 11, 5, 11, 1, 19, 3, 19).reshape(2, 4)
    return Case(parse(text, 13), {"x": x, "y": y}, [low, total])


@case("apache/tvm#18598")
def prelu_slopes_broadcast_from_the_right() -> Case:
    text = """
    g (float[2,3,2,4] x) => (float[2,3,2,4] a, float[2,3,2,4] b, float[2,3,2,4] c) {
      a = PRelu(x, channels)
      b = PRelu(x, columns)
      c = PRelu(x, all)
    }"""
    slopes = [floats(0.1, 0.2, 0.3).reshape(3, 1, 1), floats(1, 2, 3, 4), floats(0.5)]
    x = np.random.default_rng(5).standard_normal((2, 3, 2, 4), np.float32)
    model = parse(text, 16, dict(zip(("channels", "columns", "all"), slopes, strict=True)))
    return Case(model, {"x": x}, [np.where(x < 0, x * slope, x) for slope in slopes])


@case("apache/tvm#19692, apache/tvm#18135")
def cumsum_knows_exclusive_and_reverse() -> Case:
    text = """
    g (float[2,4] x) => (float[2,4] a, float[2,4] b, float[2,4] c, float[2,4] d) {
      a = CumSum(x, axis)
      b = CumSum<exclusive = 1>(x, axis)
      c = CumSum<reverse = 1>(x, axis)
      d = CumSum<exclusive = 1, reverse = 1>(x, axis)
    }"""
    rows = [(1, 3, 6, 10), (0, 1, 3, 6), (10, 9, 7, 4), (9, 7, 4, 0)]
    want = [np.stack([floats(*row), 10 * floats(*row)]) for row in rows]
    x = np.stack([floats(1, 2, 3, 4), floats(10, 20, 30, 40)])
    return Case(parse(text, 14, {"axis": np.int64(-1)}), {"x": x}, want)
