"""Small models beside those of the casebook, of the same kinds; their values are NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from casebook import counted, floats, int64s
from numpy.typing import NDArray

Array = NDArray[Any]
NAN, INF = float("nan"), float("inf")
LOWEST, HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Neighbour:
    """Nodes of a graph with inputs as they are typed, weights, and what comes out."""

    text: str
    inputs: Mapping[str, Array]
    outputs: list[Array]
    opset: int = 17
    weights: Mapping[str, Any] = field(default_factory=dict[str, Any])


ALL: dict[str, Neighbour] = {}


def neighbour(make: Callable[[], Neighbour]) -> Callable[[], Neighbour]:
    ALL[make.__name__] = make()
    return make


@neighbour
def log_softmax_and_hardmax_before_13_see_a_matrix() -> Neighbour:
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    flat = x.reshape(2, 12)
    log = flat - flat.max(1, keepdims=True)
    log = (log - np.log(np.exp(log).sum(1, keepdims=True))).reshape(x.shape)
    hard = (np.arange(12) == flat.argmax(1)[:, None]).astype(np.float32).reshape(x.shape)
    rows = np.exp(x - x.max(-1, keepdims=True))
    text = """g (float[2,3,4] x) => (float[2,3,4] a, float[2,3,4] b, float[2,3,4] c) {
      a = LogSoftmax(x)  b = Hardmax(x)  c = Softmax<axis = 2>(x) }"""
    return Neighbour(text, {"x": x}, [log, hard, rows / rows.sum(-1, keepdims=True)], 11)


@neighbour
def old_forms_of_shapes() -> Neighbour:
    """Axes, bounds, padding and a ratio were attributes; Upsample was."""
    x = counted(2, 1, 3)
    text = """g (float[2,1,3] x) => (float[2] s, float[2,3] q, float[1,2,1,3] u, float[2,1,3] c,
        float[2,1,5] p, float[2,1,3] d, float[2,1,3] up) {
      s = ReduceSumSquare<axes = [1, 2], keepdims = 0>(x)
      q = Squeeze(x)  u = Unsqueeze<axes = [0]>(x)  c = Clip<min = 1.0, max = 3.0>(x)
      p = Pad<pads = [0, 0, 1, 0, 0, 1], value = 7.0>(x)  d = Dropout<ratio = 0.9>(x)
      up = Upsample<mode = "nearest">(x, ones) }"""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=7)
    want = [(x**2).sum((1, 2)), x[:, 0], x[None], np.clip(x, 1, 3), padded, x, x]
    return Neighbour(text, {"x": x}, want, 9, {"ones": floats(1, 1, 1)})


@neighbour
def rounding_of_halves_of_all_kinds() -> Neighbour:
    x = np.asarray([0.5, 1.5, -0.5, -2.5, 2**52 + 1, np.inf, -np.inf], np.float64)
    f = floats(2.5, -0.0, 65504, -1e-30)
    text = """g (double[7] x, float[4] f) => (double[7] r, double[7] c, double[7] l, float[4] t) {
      r = Round(x)  c = Ceil(x)  l = Floor(x)  t = Round(f) }"""
    return Neighbour(text, {"x": x, "f": f}, [np.round(x), np.ceil(x), np.floor(x), np.round(f)])


@neighbour
def gathers_of_the_last_places() -> Neighbour:
    x = counted(3, 4)
    i = np.asarray([[-3, 2, -1, 0]], np.int32)
    text = """g (float[3,4] x, int32[1,4] i, int64[2,2] k, float[2,2] u)
        => (float[1,4] e, float[3,4] s, float[3,4] a, float o) {
      e = GatherElements<axis = 0>(x, i)  o = GatherND(x, last)
      s = ScatterElements<axis = 1>(x, k, u)
      a = ScatterElements<axis = 1, reduction = "add">(x, k, u) }"""
    k, u = int64s(-1, 0, -4, -4).reshape(2, 2), floats(9, 8, 7, 6).reshape(2, 2)
    s, a = x.copy(), x.copy()
    s[0, 3], s[0, 0], s[1, 0] = 9, 8, 6
    a[0, 3] += 9
    a[0, 0] += 8
    a[1, 0] += 13
    want = [x[i[0], np.arange(4)][None], s, a, np.asarray(x[-1, -1])]
    inputs = {"x": x, "i": i, "k": k, "u": u}
    return Neighbour(text, inputs, want, 18, {"last": int64s(-1, -1)})


@neighbour
def slices_with_extreme_bounds() -> Neighbour:
    x = counted(4, 5)
    text = """g (float[4,5] x) => (float[] a, float[] b, float[] c, float[] d) {
      a = Slice(x, low, high, both)  b = Slice(x, high2, low2, both, back)
      c = Slice(x, two, one, first)  d = Slice(x, minus, high, last, three) }"""
    weights = {
        "low": int64s(LOWEST, -3), "high": int64s(HIGHEST, HIGHEST), "both": int64s(0, 1),
        "high2": int64s(HIGHEST, 3), "low2": int64s(LOWEST, -5), "back": int64s(-2, -1),
        "two": int64s(2), "one": int64s(1), "first": int64s(0), "minus": int64s(-100, 1),
        "last": int64s(-1, -2), "three": int64s(3, 2),
    }  # fmt: skip
    want = [x[:, -3:], x[::-2, 3:0:-1], x[2:1], x[1::2, ::3]]
    return Neighbour(text, {"x": x}, want, 13, weights)


@neighbour
def max_pool_with_a_ragged_end() -> Neighbour:
    """A window that would begin beyond the padded image is none, with dilations, too."""
    x = -counted(1, 1, 1, 6, start=1)
    text = """g (float[1,1,1,6] x) => (float[1,1,1,3] a, int64[1,1,1,3] i, float[1,1,1,3] b,
        float[1,1,1,3] l) {
      a, i = MaxPool<kernel_shape = [1, 2], strides = [1, 2], ceil_mode = 1,
        pads = [0, 0, 0, 1]>(x)
      b = MaxPool<kernel_shape = [1, 2], strides = [1, 2], dilations = [1, 2], ceil_mode = 1>(x)
      l = LpPool<kernel_shape = [1, 2], strides = [1, 2], p = 2>(x) }"""
    row = x[0, 0, 0].astype(np.float64)
    pairs = np.sqrt(row[::2] ** 2 + row[1::2] ** 2).astype(np.float32)
    want = [x[..., ::2], int64s(0, 2, 4), x[..., [0, 2, 4]], pairs]
    return Neighbour(text, {"x": x}, [w.reshape(1, 1, 1, 3) for w in want], 18)


@neighbour
def integer_extremes() -> Neighbour:
    """Products and powers wrap, absolute values and negatives of the lowest stay, shifts shift."""
    x = int64s(LOWEST, HIGHEST, -1, 2**53 + 1)
    u = np.asarray([255, 128, 1, 0], np.uint8)
    text = """g (int64[4] x, uint8[4] u) => (int64[4] n, int64[4] a, int64[4] m, int64 s, int64 h,
        int64[4] p, uint8[4] l, uint8[4] r, bool[4] g, int64 w) {
      n = Neg(x)  a = Abs(x)  m = Mul(x, x)  s = ReduceSum(x, none)  h = ReduceMax<keepdims = 0>(x)
      p = Max(x, zero)  l = BitShift<direction = "LEFT">(u, by)
      r = BitShift<direction = "RIGHT">(u, by)  g = Greater(x, near)
      w = ArgMax<keepdims = 0>(x) }"""
    with np.errstate(over="ignore"):
        product, negative, size = x * x, -x, np.abs(x)
        total = np.asarray(x.sum())
    want = [negative, size, product, total.reshape(()), np.asarray(HIGHEST), np.maximum(x, 0)]
    want += [u << 1, u >> 1, x > 2**53, np.asarray(1)]
    weights = {"none": int64s(0), "zero": np.int64(0), "by": np.uint8(1), "near": np.int64(2**53)}
    return Neighbour(text.replace("ReduceSum(", "ReduceSum<keepdims = 0>("), {"x": x, "u": u},
                     want, 17, weights)  # fmt: skip


@neighbour
def casts_at_the_edges() -> Neighbour:
    x = floats(3.99, -3.99, 127.9, -128.5)
    u = np.asarray([0, 2**31, 2**32 - 1], np.uint32)
    k = int64s(HIGHEST, LOWEST, 2**53 + 1)
    text = """g (float[4] x, uint32[3] u, int64[3] k) => (int32[4] a, int64[3] b, float[3] c,
        double[3] d, int32[3] e, bool[3] t) {
      a = Cast<to = 6>(x)  b = Cast<to = 7>(u)  c = Cast<to = 1>(u)  d = Cast<to = 11>(k)
      e = Cast<to = 6>(k)  t = Cast<to = 9>(k) }"""
    want = [x.astype(np.int32), u.astype(np.int64), u.astype(np.float32), k.astype(np.float64)]
    want += [k.astype(np.int32), k != 0]
    return Neighbour(text, {"x": x, "u": u, "k": k}, want)


@neighbour
def nothing_in_particular() -> Neighbour:
    """Empty tensors through products, means, pools of a batch of none, and sorting of none."""
    a, b = np.zeros((0, 3), np.float32), np.zeros((3, 0), np.float32)
    text = """g (float[0,3] a, float[3,0] b) => (float[0,0] z, float[3,3] o, float[0] m,
        float[0,3] s, float[3,1] r, float[0,6] c, int64[2,0] n, float[0,3] k) {
      z = MatMul(a, b)  o = MatMul(b, a)  m = ReduceMean<axes = [1], keepdims = 0>(a)
      s = Softmax(a)  r = ReduceL1<axes = [1]>(b)  c = Concat<axis = 1>(a, a)
      n = NonZero(a)  k, place = TopK<axis = 1>(a, three) }"""
    want = [np.zeros(s, np.float32) for s in ((0, 0), (3, 3), (0,), (0, 3), (3, 1), (0, 6))]
    want += [np.zeros((2, 0), np.int64), np.zeros((0, 3), np.float32)]
    return Neighbour(text, {"a": a, "b": b}, want, 13, {"three": int64s(3)})


@neighbour
def not_a_number_in_every_comparison() -> Neighbour:
    x, y = floats(NAN, 1, NAN, -0.0), floats(1, NAN, NAN, 0)
    text = """g (float[4] x, float[4] y) => (bool[4] l, bool[4] e, bool[4] g, float[4] s,
        float[4] a, int64 m, float[4] h, bool[4] n) {
      l = LessOrEqual(x, y)  e = Equal(x, y)  g = Greater(x, y)  s = Sign(y)  a = Abs(x)
      m = ArgMin<keepdims = 0>(zero)  h = HardSigmoid(x)  n = IsNaN(x) }"""
    hard = np.clip(x * np.float32(0.2) + np.float32(0.5), 0, 1)
    want = [x <= y, x == y, x > y, np.sign(y), np.abs(x), np.asarray(0), hard, np.isnan(x)]
    return Neighbour(text, {"x": x, "y": y}, want, 17, {"zero": floats(0, 0, 0)})


@neighbour
def infinities_survive_algebra() -> Neighbour:
    x = floats(1e20, -1e20, INF, 0)
    text = """g (float[4] x) => (float[4] a, float[4] b, float[4] c, float[4] d, float[4] e) {
      a = Add(x, minus)  twice = Mul(x, big)  b = Div(twice, big)  c = Mul(x, nought)
      q = Reciprocal(x)  d = Reciprocal(q)  e = Sub(x, x) }"""
    with np.errstate(all="ignore"):
        big = np.float32(1e30)
        want = [x + floats(-INF), x * big / big, x * np.float32(0), 1 / (1 / x), x - x]
    weights = {"minus": floats(-INF), "big": big, "nought": np.float32(0)}
    return Neighbour(text, {"x": x}, want, 17, weights)


@neighbour
def symbols_that_are_one_or_none() -> Neighbour:
    x, y = floats(1, 2, 3).reshape(1, 3), np.zeros((0, 3), np.float32)
    text = """g (float[n,3] x, float[m,3] y) => (float[a,3] s, float[b,3] e, bool[a,3] w) {
      s = Add(x, y)  e = Expand(x, shape)  w = Less(y, x) }"""
    want = [np.zeros((0, 3), np.float32), np.repeat(x, 2, 0), np.zeros((0, 3), bool)]
    return Neighbour(text, {"x": x, "y": y}, want, 17, {"shape": int64s(2, 1)})


@neighbour
def modulo_of_extremes() -> Neighbour:
    a, b = int64s(LOWEST, HIGHEST, -7, 7), int64s(3, -2, -7, 8)
    u = np.asarray([250, 3], np.uint8)
    text = """g (int64[4] a, int64[4] b, uint8[2] u, float[3] f) => (int64[4] m, int64[4] t,
        uint8[2] v, float[3] w) {
      m = Mod(a, b)  t = Mod<fmod = 1>(a, b)  v = Mod(u, seven)  w = Mod<fmod = 1>(f, half) }"""
    f = floats(-1.25, INF, 5)
    half = np.float32(0.5)
    with np.errstate(all="ignore"):
        want = [np.mod(a, b), np.fmod(a, b), u % 7, np.fmod(f, half)]
    inputs = {"a": a, "b": b, "u": u, "f": f}
    return Neighbour(text, inputs, want, 17, {"seven": np.uint8(7), "half": half})


@neighbour
def quantised_ends_and_ties() -> Neighbour:
    x = floats(-1e9, 1e9, 0.5, 1.5, -0.5, NAN)[:5]
    text = """g (float[5] x, uint8[2,2] a, int8[2,2] b) => (int8[5] q, uint8[5] d, float s, uint8 z,
        int32[2,2] m) {
      q = QuantizeLinear(x, one, zp)  d, s, z = DynamicQuantizeLinear(y)
      m = MatMulInteger(a, b, az, bz) }"""
    a, b = np.asarray([[255, 0], [1, 2]], np.uint8), np.asarray([[-128, 127], [3, -4]], np.int8)
    y = floats(0, 2, -1, 0.5, 1)
    scale = np.float32(3 / 255)
    zero = np.uint8(np.round(1 / scale))
    want = [np.asarray([-128, 127, 0, 2, 0], np.int8)]
    want += [np.clip(np.round(y / scale) + zero, 0, 255).astype(np.uint8), scale, zero]
    want += [(a.astype(np.int32) - 7) @ (b.astype(np.int32) + 9)]
    weights = {"one": np.float32(1), "zp": np.int8(0), "y": y}
    weights |= {"az": np.uint8(7), "bz": np.int8(-9)}
    return Neighbour(text, {"x": x, "a": a, "b": b}, [np.asarray(w) for w in want], 17, weights)


@neighbour
def reshapes_of_none_and_scalars() -> Neighbour:
    x, e, s = counted(6), np.zeros((2, 0), np.float32), np.asarray(3, np.float32)
    text = """g (float[6] x, float[2,0] e, float s) => (float[] a, float[] b, float[] c, float[] d,
        float[] f, int64[0] h) {
      a = Reshape(x, two)  b = Reshape(e, nil)  c = Reshape(s, one)  d = Expand(s, grid)
      f = Flatten<axis = 0>(x)  h = Shape(s) }"""
    want = [x.reshape(2, 3), np.zeros((0, 5), np.float32), s.reshape(1), np.full((2, 2), s)]
    want += [x.reshape(1, 6), int64s()]
    weights = {"two": int64s(2, -1), "nil": int64s(-1, 5), "one": int64s(-1), "grid": int64s(2, 2)}
    return Neighbour(text, {"x": x, "e": e, "s": s}, want, 14, weights)


@neighbour
def sums_of_running_kinds() -> Neighbour:
    x = int64s(HIGHEST, 1, -5, 2).reshape(2, 2)
    text = """g (int64[2,2] x, float[3] f) => (int64[2,2] a, int64[2,2] b, float[3] c) {
      a = CumSum(x, nought)  b = CumSum<exclusive = 1, reverse = 1>(x, last)
      c = CumSum<exclusive = 1>(f, nought) }"""
    f = floats(1, INF, 2)
    with np.errstate(all="ignore"):
        want = [np.cumsum(x, 0), np.asarray([[1, 0], [2, 0]]), floats(0, 1, INF)]
    weights = {"nought": np.int32(0), "last": np.int64(-1)}
    return Neighbour(text, {"x": x, "f": f}, want, 14, weights)
