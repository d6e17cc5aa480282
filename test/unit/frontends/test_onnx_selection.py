"""Results whose sizes depend on data, compiled, against NumPy and onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from onnx_rows import Row, ints, noise
from onnx_text import Array, at_graph_level, in_onnxruntime, parse

import nn_opt

BOOLS = np.array([[True, False, True], [False, False, True]])


def compiled(row: Row) -> nn_opt.Model:
    return nn_opt.compile(row.model(), threads=1)


def agrees(row: Row, *more: Mapping[str, Array]) -> None:
    """Assert that a row, and its model with other inputs, compute what onnxruntime does."""
    model, program = row.model(), compiled(row)
    for inputs in (row.inputs, *more):
        expected = in_onnxruntime(model, inputs)
        for got, want in zip(program.run(dict(inputs)).values(), expected, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_array_equal(got, want)


def test_places_that_are_not_zero() -> None:
    values = np.array([[0.0, -0.0, np.nan], [1, 0, -2]], np.float32)
    row = Row("y = NonZero(x)", {"x": values}, results="int64[] y")
    agrees(row, {"x": np.zeros_like(values)}, {"x": values + 1})


@pytest.mark.parametrize("axis", ["", "<axis = 1>"])
def test_slices_where_a_condition_holds(axis: str) -> None:
    inputs = {"x": noise(2, 4), "c": np.array([True, False, True])}
    agrees(Row(f"y = Compress{axis}(x, c)", inputs), inputs | {"c": np.zeros(3, np.bool_)})


@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize("axis", [None, 0])
def test_unique_elements_and_rows(axis: int | None, in_order: int) -> None:
    rows = np.array([[2, 1, 0], [1, 1, 3], [2, 1, 0], [1, 0, 3], [1, 1, 3]], np.int64)
    text = f"sorted = {in_order}" + ("" if axis is None else f", axis = {axis}")
    results = "int64[] y, int64[] i, int64[] v, int64[] c"
    agrees(Row(f"y, i, v, c = Unique<{text}>(x)", {"x": rows}, results=results))


def test_unique_floats_of_many() -> None:
    values = np.round(noise(700), 1)
    results = "float[] y, int64[] c"
    agrees(Row("y, , , c = Unique(x)", {"x": values}, results=results))


BOXES = np.abs(np.random.default_rng(3).normal(size=(2, 30, 4))).astype(np.float32)
SCORES = np.random.default_rng(4).random((2, 3, 30), np.float32)


@pytest.mark.parametrize(
    ("center", "most", "overlap", "score"), [(0, 5, 0.3, 0.4), (1, 30, 0.5, None), (0, 2, 0.0, 2.0)]
)
def test_suppression(center: int, most: int, overlap: float, score: float | None) -> None:
    known = {"n": np.int64(most), "o": np.float32(overlap)}
    known |= {} if score is None else {"s": np.float32(score)}
    node = f"y = NonMaxSuppression<center_point_box = {center}>({', '.join(['b', 'c', *known])})"
    agrees(Row(node, {"b": BOXES, "c": SCORES}, known, results="int64[] y"))


def test_suppression_takes_limits_at_run_time() -> None:
    inputs = {"b": BOXES[:1, :8], "c": SCORES[:1, :1, :8], "n": ints(3)}
    inputs |= {"o": np.array([0.5], np.float32), "s": np.array([0.2], np.float32)}
    agrees(Row("y = NonMaxSuppression(b, c, n, o, s)", inputs, results="int64[] y"))


def test_no_boxes_are_asked_for() -> None:
    row = Row("y = NonMaxSuppression(b, c)", {"b": BOXES, "c": SCORES}, results="int64[] y")
    (got,) = compiled(row).run(dict(row.inputs)).values()
    assert got.shape == (0, 3)


def test_boxes_and_scores_must_fit() -> None:
    row = Row("y = NonMaxSuppression(b, c)", {"b": BOXES[:1], "c": SCORES}, results="int64[] y")
    with pytest.raises(
        nn_opt.DiagnosticError, match=r"boxes have shape \[1, 30, 4\], scores \[2, 3, 30\]"
    ):
        at_graph_level(row.model(), row.inputs)


@pytest.mark.parametrize("name", ["o", "s"])
def test_limits_are_single_numbers(name: str) -> None:
    known = {"n": np.int64(3), "o": np.float32(0.5), "s": np.float32(0)}
    known[name] = np.zeros(2, np.float32)
    inputs = {"b": BOXES, "c": SCORES}
    text = "g (float[2,30,4] b, float[2,3,30] c) => (int64[] y)"
    text += " { y = NonMaxSuppression(b, c, n, o, s) }"
    words = {"o": "iou_threshold", "s": "score_threshold"}[name]
    with pytest.raises(
        nn_opt.DiagnosticError, match=rf"{words} has shape \[2\], expected one element"
    ):
        nn_opt.compile(parse(text, 17, known), threads=1).run({k: inputs[k] for k in "bc"})


def test_regions_take_as_many_samples_as_they_are_large() -> None:
    regions = np.array([[0, 0, 9, 7], [2, 1, 3, 3], [1, 1, 40, 30]], np.float32)
    inputs = {"x": noise(1, 2, 8, 10), "r": regions, "i": ints(0, 0, 0)}
    row = Row("y = RoiAlign<output_height = 2, output_width = 2>(x, r, i)", inputs)
    (got,) = compiled(row).run(dict(inputs)).values()
    np.testing.assert_allclose(got, in_onnxruntime(row.model(), inputs)[0], rtol=1e-5, atol=1e-6)


def test_a_branch_may_select() -> None:
    text = """
    g (bool c, float[6] x) => (int64[] y) {
      y = If<then_branch = t () => (int64[] a) { a = NonZero(x) },
             else_branch = e () => (int64[] b) { h = Neg(x) b = NonZero(h) }>(c)
    }"""
    program = nn_opt.compile(parse(text, 17), threads=1)
    x = np.array([0, 1, 0, 2, 3, 0], np.float32)
    for condition in (True, False):
        (got,) = program.run({"c": np.array(condition), "x": x}).values()
        np.testing.assert_array_equal(got, [[1, 3, 4]])


def test_constants_are_selected_at_compile_time() -> None:
    row = Row("y = NonZero(k)", {"x": noise(1)}, {"k": BOOLS}, results="int64[] y")
    (got,) = at_graph_level(row.model(), row.inputs)
    np.testing.assert_array_equal(got, np.nonzero(BOOLS))
