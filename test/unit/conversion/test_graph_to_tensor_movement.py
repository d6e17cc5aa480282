"""Graph ops that move or pick elements, as formulas: the graph's interpreter judges."""

from __future__ import annotations

import numpy as np
import pytest
from random_arrays import F16, F32, I32, I64, U8, normal, whole
from single_op import assert_equal, convert, module_of

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects import graph, loop
from nn_opt.ir.parsing import make_context

X = (2, 3, 4, 5)

MOVES = {
    "reshape": lambda x: graph.ReshapeOp(x, [6, 20]),
    "reshape to the same": lambda x: graph.ReshapeOp(x, X),
    "transpose": lambda x: graph.TransposeOp(x, [2, 0, 3, 1]),
    "expand": lambda x: graph.ExpandOp(x, [3, 2, 3, 4, 5]),
    "slice": lambda x: graph.SliceOp(x, [0, 2, 1, 4], [1, 2, 1, 3], [1, -1, 1, -2]),
    "slice to nothing": lambda x: graph.SliceOp(x, [0, 0, 0, 0], [2, 0, 4, 5], [1, 1, 1, 1]),
    "tile": lambda x: graph.TileOp(x, [1, 2, 1, 3]),
    "tile to nothing": lambda x: graph.TileOp(x, [1, 0, 1, 3]),
    "pad": lambda x: graph.PadOp(x, [0, 1, 2, 0, 1, 0, 1, 3]),
    "crop": lambda x: graph.PadOp(x, [-1, 1, -2, 0, 0, -1, 1, -3]),
    "reflect": lambda x: graph.PadOp(x, [0, 2, 3, 1, 1, 0, 3, 4], "reflect"),
    "edge": lambda x: graph.PadOp(x, [1, 2, 0, 0, 0, 3, 0, 7], "edge"),
    "wrap": lambda x: graph.PadOp(x, [1, 2, 0, 0, 0, 3, 0, 7], "wrap"),
    "reflect after cropping": lambda x: graph.PadOp(x, [0, 0, -1, 0, 0, 0, 1, -1], "reflect"),
    "to blocks": lambda x: graph.LayoutTransformOp(x, "NCHW", "NCHW4c"),
    "to two blocks": lambda x: graph.LayoutTransformOp(x, "OIHW", "OIHW4i2o"),
    "to NHWC": lambda x: graph.LayoutTransformOp(x, "NCHW", "NHWC"),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("dtype", [F32, U8, bool, F16])
def test_moves_keep_every_bit(move, dtype):
    x = (normal(*X) * 50).astype(np.int8).astype(dtype)
    assert_equal(move, x, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("shape", "source", "target", "sizes"),
    [
        ((2, 2, 3, 3, 4), "NCHW4c", "NCHW", [2, 7, 3, 3]),
        ((2, 2, 3, 3, 4), "NCHW4c", "NCHW3c", [2, 7, 3, 3]),
        ((2, 2, 3, 3, 4), "NCHW4c", "NCHW8c", [2, 8, 3, 3]),
        ((2, 2, 3, 4, 2), "AB4b2a", "BA", [4, 7]),
        ((5, 7), "KN", "NK4n", [5, 7]),
    ],
)
def test_layouts_crop_and_pad_at_the_logical_size(shape, source, target, sizes):
    if source == "AB4b2a":
        shape = (2, 2, 4, 2)
    assert_equal(
        lambda x: graph.LayoutTransformOp(x, source, target, sizes), normal(*shape), rtol=0, atol=0
    )


@pytest.mark.parametrize("dtype", [F32, U8, F16])
def test_pads_with_a_value_known_at_compile_time_or_not(dtype):
    x, value = (normal(3, 4) * 9).astype(dtype), np.array(7, dtype)
    assert_equal(lambda x, value: graph.PadOp(x, [1, 0, 2, -1], "constant", value), x, value)
    assert_equal(
        lambda x: graph.PadOp(x, [1, 0, 2, -1], "constant", graph.ConstantOp(value).result), x
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_along_each_axis(axis):
    shapes = [[2, 3, 4] for _ in range(4)]
    for extra, shape in enumerate(shapes):
        shape[axis] = extra  # the first has no elements
    arrays = [normal(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    assert_equal(lambda *xs: graph.ConcatOp(xs, axis), *arrays, rtol=0, atol=0)


def test_concat_of_nothing():
    assert_equal(lambda *xs: graph.ConcatOp(xs, 0), normal(0, 3), normal(0, 3))


@pytest.mark.parametrize("dtype", [I32, I64])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gathers_count_negative_indices_from_the_end(axis, dtype):
    x = normal(4, 4, 4)
    assert_equal(lambda x, i: graph.GatherOp(x, i, axis), x, whole(-4, 4, 2, 3, dtype=dtype))
    assert_equal(lambda x, i: graph.GatherOp(x, i, axis), x, np.array(-2, dtype))
    elements = whole(-4, 4, 3, 4, 2, dtype=dtype)
    assert_equal(lambda x, i: graph.GatherElementsOp(x, i, axis), x, elements)


def test_a_gather_out_of_range_stays_inside_the_tensor():
    module = module_of(lambda x, i: graph.GatherOp(x, i), normal(3, 2), np.array([9, -9], I64))
    from nn_opt.reference import run

    x = normal(3, 2)
    (result,) = run(convert(module), [x, np.array([9, -9], I64)])
    np.testing.assert_array_equal(result, x[[2, 0]])


@pytest.mark.parametrize(("indices", "batch"), [((3, 2), 0), ((2, 3, 1), 1), ((2, 5, 3, 1), 2)])
def test_gather_nd(indices, batch):
    x = normal(2, 5, 4, 3)
    assert_equal(lambda x, i: graph.GatherNDOp(x, i, batch), x, whole(-2, 2, *indices))


REDUCTIONS = ["none", "add", "mul", "max", "min"]


@pytest.mark.parametrize("dtype", [F32, I32, U8, F16])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatters_take_repeated_indices_in_order(reduction, dtype):
    x = (normal(4, 5) * 9).astype(np.int8).astype(dtype)
    rows = np.array([[1], [3], [1], [-1]], I64)
    updates = (normal(4, 5, seed=1) * 3).astype(np.int8).astype(dtype)
    assert_equal(lambda *xs: graph.ScatterNDOp(*xs, reduction), x, rows, updates)
    points = np.array([[1, 2], [0, -1], [1, 2], [1, 2]], I64)
    assert_equal(lambda *xs: graph.ScatterNDOp(*xs, reduction), x, points, updates[:, 0])
    for axis in (0, 1, -1):
        indices = whole(-4, 4, 3, 4)
        assert_equal(
            lambda *xs, axis=axis: graph.ScatterElementsOp(*xs, axis, reduction),
            x,
            indices,
            updates[:3, :4],
        )


@pytest.mark.parametrize("dtype", [F32, U8, F16, np.bool_])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_scatters_along_whole_lines(axis, reduction, dtype):
    x = (normal(4, 5) * 9).astype(np.int8).astype(dtype)
    shape = (3, 5) if axis == 0 else (4, 3)
    updates = (normal(*shape, seed=1) * 3).astype(np.int8).astype(dtype)
    indices = whole(-4, 4, *shape)
    build = lambda *xs: graph.ScatterElementsOp(*xs, axis, reduction)  # noqa: E731
    assert_equal(build, x, indices, updates)
    module = convert(module_of(build, x, indices, updates))
    ConvertTensorToLoopPass().apply(make_context(), module)
    copies = [op for op in module.walk() if isinstance(op, loop.CopyOp)]
    assert not any(isinstance(copy.parent_op(), loop.ForOp) for copy in copies)


def test_scatters_of_nothing():
    x = normal(4, 5)
    empty = np.zeros((0, 1), I64)
    assert_equal(lambda *xs: graph.ScatterNDOp(*xs), x, empty, normal(0, 5))
    assert_equal(lambda *xs: graph.ScatterElementsOp(*xs), x, np.zeros((0, 5), I64), normal(0, 5))


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_negative_pads_cut_before_the_others_repeat(mode):
    pads = [-1, 5, 3, 6, -2, -1]
    assert_equal(lambda x: graph.PadOp(x, pads, mode), whole(0, 99, 5, 4, 3))
