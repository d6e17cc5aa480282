"""Builders of graph ops, unknown sizes, and what the text of a property reads back as."""

from __future__ import annotations

import math
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, f16, f32, i1, i64
from xdsl.dialects.test import Test, TestOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from nn_opt.dialects import graph
from nn_opt.dialects.graph.fields import float_text
from nn_opt.dialects.graph.resampling import Axis, axis_taps
from nn_opt.ir.resources import ResourceAttr
from nn_opt.ir.sidecar import sidecar
from nn_opt.ir.types import shape_of, tensor_type


def value(*shape: int, element: Any = f32) -> Any:
    return TestOp(result_types=[tensor_type(shape, element)]).results[0]


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Test, graph.Graph):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def generic(op: Operation) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(op)
    return stream.getvalue()


def test_every_op_says_how_it_fuses():
    for op in graph.Graph.operations:
        if op is not graph.YieldOp:
            assert isinstance(op.FUSION, graph.Fusion), op.name  # pyright: ignore


def test_builders_infer_their_result():
    x = value(1, 3, 8, 8)
    conv = graph.ConvOp(x, value(4, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1])
    assert shape_of(conv.result) == (1, 4, 4, 4)
    assert graph.EqualOp(x, x).result.type == tensor_type((1, 3, 8, 8), i1)
    assert graph.CastOp(x, f16).result.type == tensor_type((1, 3, 8, 8), f16)
    assert graph.ArgReduceOp(x, "max", 1).result.type == tensor_type((1, 1, 8, 8), i64)
    assert shape_of(graph.ReshapeOp(x, [3, 64]).result) == (3, 64)
    packed = graph.LayoutTransformOp(x, "NCHW", "NCHW16c")
    assert shape_of(packed.result) == (1, 1, 8, 8, 16)
    assert packed.sizes.get_values() == (1, 3, 8, 8)


def test_builders_reject_what_does_not_fit():
    with pytest.raises(ValueError, match="do not broadcast"):
        graph.AddOp(value(2), value(3))


def test_verifier_catches_a_type_that_went_stale():
    relu = graph.ReluOp(value(4))
    relu.operands[0] = value(5)
    with pytest.raises(VerifyException, match=r"result shape is \[4\], expected \[5\]"):
        relu.verify()
    assert relu.infer_result_types() == [tensor_type((5,), f32)]


def test_unknown_sizes_fit_any_size():
    graph.AddOp(value(-1, 3), value(-1, 1)).verify()
    reduced = graph.ReduceOp(value(-1, 3), "sum", [1], keepdims=False)
    assert shape_of(reduced.result) == (-1,)


@pytest.mark.parametrize("number", [0.1, 1e-5, 1e20, -0.0, 3.0, 2**-149, math.inf, -math.inf])
def test_floats_read_back_as_the_same_f32(number: float):
    op = graph.LeakyReluOp(value(4), number)
    module = ModuleOp([op.x.owner, op])  # pyright: ignore[reportArgumentType]
    for text in (str(module), generic(module)):
        *_, again = parse(text).walk()
        assert isinstance(again, graph.LeakyReluOp)
        assert np.float32(again.alpha.value.data).tobytes() == np.float32(number).tobytes()


def test_float_text_always_has_a_point_or_is_a_word():
    assert [float_text(x) for x in (1.0, 1e20, math.nan)] == ["1.0", "1.0e+20", "nan"]


def test_small_constants_are_text_and_large_ones_resources():
    small = graph.ConstantOp(np.arange(3, dtype=np.uint8))
    assert "dense<[0, 1, 2]>" in str(small)
    weights = np.arange(100, dtype=np.float32)
    large = graph.ConstantOp(weights)
    assert isinstance(large.value, ResourceAttr)
    text = str(ModuleOp([large]))
    with sidecar({large.value.data.key: weights}):
        module = parse(text)
    module.verify()
    (again,) = module.ops
    assert isinstance(again, graph.ConstantOp)
    np.testing.assert_array_equal(again.array(), weights)
    assert str(module) == text


@pytest.mark.parametrize(
    "array",
    [np.array([True, False]), np.array(2.5, np.float16), np.array([[-1], [2]], np.int8)],
)
def test_small_constants_round_trip(array: np.ndarray):
    (again,) = parse(str(ModuleOp([graph.ConstantOp(array)]))).ops
    assert isinstance(again, graph.ConstantOp)
    np.testing.assert_array_equal(again.array(), array)
    assert again.array().dtype == array.dtype


def test_unknown_field_names_the_known_ones():
    text = '%x = "test.op"() : () -> tensor<4xf32>\n%y = graph.elu %x beta 1.0 : tensor<4xf32>'
    with pytest.raises(ParseError, match="has no field 'beta'; its fields: alpha"):
        parse(text)


def test_linear_taps_of_a_doubled_axis():
    # Half pixel, by hand: coordinates -0.25, 0.25, 0.75, 1.25.
    taps = axis_taps(Axis(2, 4, 2.0), mode="linear", coordinate="half_pixel")
    weights = taps.weights * (taps.indices == 1)
    np.testing.assert_allclose(weights.sum(axis=1), [0, 0.25, 0.75, 1])
