"""TopK, and what graph.argsort and graph.search_sorted become, against NumPy and onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx_rows import Row, ints, noise
from onnx_text import at_graph_level, parse

import nn_opt

Array = NDArray[Any]
both = "float[] y, int64[] i"
x = np.round(noise(3, 7, 4), 1)

ROWS = [
    *(
        Row(
            f"y, i = TopK<axis = {axis}, largest = {large}>(x, k)",
            {"x": x},
            {"k": ints(k)},
            results=both,
        )
        for axis, k in ((0, 2), (1, 7), (-1, 0))
        for large in (0, 1)
    ),
    Row("y, i = TopK<k = 3, axis = 1>(x)", {"x": x}, opset=1, results=both),
    Row("y, i = TopK(x, k)", {"x": x}, {"k": ints(2)}, opset=10, results=both),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


def in_order(array: Array, axis: int, count: int, *, largest: bool) -> Array:
    """Return where the first elements in order are; NaN is the largest, equal ones keep order."""
    ranks = np.unique(array, return_inverse=True)[1].reshape(array.shape)
    order = np.argsort(-ranks if largest else ranks, axis=axis, kind="stable")
    return np.take(order, np.arange(count), axis)


def special(*shape: int) -> Array:
    """Return numbers of which many are equal, some infinite or not a number, and both zeros."""
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 5e-324, 2.5], np.float64)
    return np.random.default_rng(1).choice(values, shape)


@pytest.mark.parametrize(
    ("array", "axis", "count", "largest"),
    [
        pytest.param(special(3, 40).astype(np.float32), 1, 40, True, id="counting"),
        pytest.param(special(2, 900).astype(np.float16), 1, 4, False, id="one by one"),
        pytest.param(special(2, 1030).astype(np.float32), 1, 70, True, id="of parts"),
        pytest.param(np.full((1, 700), 2**63 - 1, np.int64), 1, 20, False, id="largest keys"),
        pytest.param(special(2, 300), 1, 300, True, id="merging f64"),
        pytest.param(
            np.random.default_rng(2).integers(0, 2**64 - 1, (300, 2), np.uint64, endpoint=True),
            0,
            280,
            False,
            id="merging ui64",
        ),
    ],
)
def test_compiled_orders_are_exact(array: Array, axis: int, count: int, largest: bool) -> None:
    kind = {"float64": "double"}.get(array.dtype.name, array.dtype.name).replace("float32", "float")
    shape = ",".join(map(str, array.shape))
    text = f"g ({kind}[{shape}] x) => ({kind}[] y, int64[] i) {{ y, i = TopK<axis = {axis}, "
    text += f"largest = {int(largest)}>(x, k) }}"
    model = parse(text, 24, {"k": ints(count)})
    values, order = nn_opt.compile(model, threads=1).run({"x": array}).values()
    expected = in_order(array, axis, count, largest=largest)
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(array, expected, axis))
    interpreted = at_graph_level(model, {"x": array})[1]
    np.testing.assert_array_equal(interpreted, expected)


def test_refuses_more_than_there_are() -> None:
    row = Row("y, i = TopK(x, k)", {"x": x}, {"k": ints(5)}, results=both)
    with pytest.raises(nn_opt.DiagnosticError, match=r"k is \[5\], expected one from 0 to 4"):
        at_graph_level(row.model(), row.inputs)


def test_refuses_a_scalar() -> None:
    row = Row("y, i = TopK(x, k)", {"x": np.float32(1)}, {"k": ints(1)}, results=both)
    with pytest.raises(nn_opt.DiagnosticError, match="expected an axis to sort along"):
        at_graph_level(row.model(), row.inputs)
