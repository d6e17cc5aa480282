"""Converters of reductions, products and normalisations against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, ints, noise, reals
from onnx_text import at_graph_level

x = noise(2, 3, 4)
image, channels = noise(2, 4, 3, 5), noise(4, seed=2)
REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]
whole = np.array([[1, -2], [3, 4]], np.int32)


def norm(node: str, **known: np.ndarray) -> Row:
    return Row(node, {"x": image}, known)


EINSUMS = [
    ("bij,bjk->bik", x, noise(2, 4, 5)),
    ("ij,jk", x[0], noise(4, 2)),
    ("...ij,...jk->...ik", x, noise(1, 4, 2)),
    ("ijk,ilm->jlkm", x, noise(2, 2, 3)),
    ("i,j->ij", noise(3), noise(4)),
    ("bij,bij->b", x, noise(2, 3, 4, seed=3)),
    ("bhqd,bhkd->bhqk", noise(2, 3, 4, 5), noise(2, 3, 6, 5)),
]

ROWS = [
    *(Row(f"y = Reduce{kind}(x)", {"x": np.abs(x)}, opset=11) for kind in REDUCTIONS),
    *(
        Row(f"y = Reduce{kind}<axes = [-1, 0], keepdims = 0>(x)", {"x": np.abs(x)}, opset=12)
        for kind in REDUCTIONS
    ),
    *(
        Row(f"y = Reduce{kind}<keepdims = 0>(x, a)", {"x": np.abs(x)}, {"a": ints(-2)}, opset=18)
        for kind in REDUCTIONS
    ),
    Row("y = ReduceSum(x, a)", {"x": x}, {"a": ints(1, 2)}, opset=13),
    Row("y = ReduceSum<noop_with_empty_axes = 1>(x)", {"x": x}, opset=13),
    Row("y = ReduceMax<axes = [1]>(x)", {"x": whole}, opset=12, results="int32[] y"),
    *(
        Row(f"y = Arg{kind}<axis = -1, keepdims = {keep}>(x)", {"x": x}, results="int64[] y")
        for kind, keep in (("Max", 0), ("Min", 1))
    ),
    *(
        Row(
            f"y = ArgMax<select_last_index = {last}>(x)",
            {"x": reals(1, 5, 5, 2)},
            results="int64[] y",
        )
        for last in (0, 1)
    ),
    *(
        Row(f"y = {op}{axis}(x)", {"x": x}, opset=opset)
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for opset in (7, 12, 13)
        for axis in ("", "<axis = 0>", "<axis = 1>", "<axis = -1>")
        if not (opset == 7 and "-1" in axis)
    ),
    *(
        Row(f"y = CumSum<exclusive = {e}, reverse = {r}>(x, a)", {"x": x}, {"a": np.int64(1)})
        for e in (0, 1)
        for r in (0, 1)
    ),
    *(
        Row("y = MatMul(a, b)", {"a": a, "b": b})
        for a, b in ((x, noise(4)), (noise(3), x), (x, noise(5, 1, 4, 2)), (noise(3), noise(3)))
    ),
    Row("y = Gemm(a, b)", {"a": x[0], "b": noise(4, 2)}, opset=11),
    Row(
        "y = Gemm<transA = 1, transB = 1, alpha = 0.5, beta = 2.0>(a, b, c)",
        {"a": x[0], "b": noise(2, 3), "c": noise(2)},
    ),
    Row("y = Gemm(a, b, c)", {"a": x[0], "b": noise(4, 2), "c": noise(3, 1)}, opset=7),
    *(
        Row(f'y = Einsum<equation = "{equation}">(a, b)', {"a": a, "b": b}, opset=12)
        for equation, a, b in EINSUMS
    ),
    Row('y = Einsum<equation = "ii->i">(a)', {"a": noise(3, 3)}, opset=12),
    Row('y = Einsum<equation = "bij->bji">(a)', {"a": x}, opset=12),
    norm(
        "y = BatchNormalization<epsilon = 0.01>(x, s, b, m, v)",
        s=channels,
        b=channels[::-1].copy(),
        m=channels + 1,
        v=np.abs(channels),
    ),
    norm("y = InstanceNormalization(x, s, b)", s=channels, b=channels + 1),
    norm("y = LayerNormalization(x, s)", s=noise(5)),
    norm("y = LayerNormalization<axis = 2>(x, s, b)", s=noise(3, 5), b=noise(5)),
    Row(
        "y, m, d = LayerNormalization<axis = 1>(x, s)",
        {"x": x},
        {"s": noise(3, 4)},
        results="float[] y, float[] m, float[] d",
    ),
    Row(
        "y = GroupNormalization<num_groups = 2>(x, s, b)",
        {"x": image},
        {"s": channels, "b": channels + 1},
        opset=21,
    ),
    *(
        Row(f"y = RMSNormalization{axis}(x, s)", {"x": x}, {"s": noise(4)}, opset=23)
        for axis in ("", "<axis = 1, epsilon = 0.1>")
    ),
    norm("y = MeanVarianceNormalization(x)"),
    norm("y = MeanVarianceNormalization<axes = [2, 3]>(x)"),
    *(norm(f"y = LpNormalization<axis = 1, p = {p}>(x)") for p in (1, 2)),
    *(norm(f"y = LRN<size = {size}, alpha = 0.2, beta = 0.6, bias = 1.5>(x)") for size in (1, 3)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


def test_group_normalization_before_opset_21_scales_groups() -> None:
    scale, bias = reals(2, 3), reals(0.5, -0.5)
    known = {"s": scale, "b": bias}
    row = Row("y = GroupNormalization<num_groups = 2>(x, s, b)", {"x": image}, known, opset=18)
    (got,) = at_graph_level(row.model(), {"x": image})
    groups = image.astype(np.float64).reshape(2, 2, -1)
    normal = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    want = normal * scale[None, :, None] + bias[None, :, None]
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-5, atol=1e-6)
