"""Reductions in the interpreter of graph against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from against_onnx import F32, I32, I64, check, normal, ours, theirs, whole

from nn_opt.dialects import graph

IMAGE = normal(1, 2, 6, 7)

REDUCTIONS = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "max": "ReduceMax",
    "min": "ReduceMin",
    "prod": "ReduceProd",
    "l1": "ReduceL1",
    "l2": "ReduceL2",
    "log_sum": "ReduceLogSum",
    "log_sum_exp": "ReduceLogSumExp",
    "sum_square": "ReduceSumSquare",
}


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("axes", [[1], [0, -1], [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce(kind: str, axes: list[int], keepdims: bool):
    x = np.abs(normal(3, 4, 5)) if kind == "log_sum" else normal(3, 4, 5)
    expected = theirs(REDUCTIONS[kind], [x, np.array(axes, I64)], keepdims=int(keepdims))
    check(ours(lambda v: graph.ReduceOp(v, kind, axes, keepdims), x), expected)


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min", "prod"])
def test_reduce_integers(kind: str):
    x = whole(-9, 9, 3, 4, dtype=I32)
    expected = theirs(REDUCTIONS[kind], [x, np.array([1], I64)], keepdims=1)
    check(ours(lambda v: graph.ReduceOp(v, kind, [1]), x), expected)


def test_empty_reductions_are_the_identity():
    x = np.zeros((2, 0), F32)
    identities = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "log_sum_exp": -np.inf}
    for kind, identity in identities.items():
        actual = ours(lambda v, kind=kind: graph.ReduceOp(v, kind, [1], False), x)
        assert actual.tolist() == [identity, identity]


def test_reduce_keeps_nan_and_infinity():
    x = np.array([[np.nan, 1], [np.inf, 1], [-np.inf, -np.inf]], F32)
    reduce = {k: ours(lambda v, k=k: graph.ReduceOp(v, k, [1], False), x) for k in REDUCTIONS}
    np.testing.assert_array_equal(reduce["max"], [np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(reduce["log_sum_exp"], [np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("select_last", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_arg_reduce(kind: str, select_last: bool, keepdims: bool):
    x = whole(0, 3, 4, 6).astype(F32)
    options = {"keepdims": int(keepdims), "select_last_index": int(select_last)}
    expected = theirs(f"Arg{kind.capitalize()}", [x], axis=1, **options)
    check(ours(lambda v: graph.ArgReduceOp(v, kind, 1, keepdims, select_last), x), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int):
    x = normal(3, 4, 5, scale=30)
    check(ours(lambda v: graph.SoftmaxOp(v, axis), x), theirs("Softmax", [x], axis=axis))
    check(ours(lambda v: graph.LogSoftmaxOp(v, axis), x), theirs("LogSoftmax", [x], axis=axis))


def test_batch_norm():
    arrays = [IMAGE, *(normal(2, seed=s) for s in (1, 2, 3)), np.abs(normal(2, seed=4))]
    actual = ours(lambda *v: graph.BatchNormOp(*v, epsilon=1e-3), *arrays)
    check(actual, theirs("BatchNormalization", arrays, epsilon=1e-3))
