"""The interpreter of graph against onnxruntime, or onnx's own reference where that lacks an op."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import builtin, func
from xdsl.dialects.test import TestOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Block, Region

from nn_opt.dialects import graph
from nn_opt.ir.resources import tensor_type_of
from nn_opt.ir.types import mlir_type, tensor_type
from nn_opt.reference.graph import FUNCTIONS, evaluate

F32, F64, I64, I32, U8 = np.float32, np.float64, np.int64, np.int32, np.uint8
ONNX_TYPES = {
    np.dtype(dtype): helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for dtype in (F32, F64, np.float16, I64, I32, np.int8, np.int16, U8, np.uint32, np.uint64, bool)
}
# float32 rounding of a result that onnxruntime sums in float32.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}


def normal(*shape: int, dtype: Any = F32, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def whole(low: int, high: int, *shape: int, dtype: Any = I64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def values(*arrays: np.ndarray) -> list[Any]:
    return list(TestOp(result_types=[tensor_type_of(array) for array in arrays]).results)


def ours(build: Any, *arrays: np.ndarray) -> np.ndarray:
    op = build(*values(*arrays))
    op.verify()
    (result,) = evaluate(op, arrays)
    return result


def model(kind: str, attributes: dict[str, Any], inputs: list[Any], opset: int) -> Any:
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    infos = [
        helper.make_tensor_value_info(name, ONNX_TYPES[array.dtype], array.shape)
        for name, array in zip(names, inputs, strict=True)
        if array is not None
    ]
    result = helper.make_empty_tensor_value_info("y")
    node = helper.make_node(kind, names, ["y"], **attributes)
    network = helper.make_graph([node], "g", infos, [result])
    made = helper.make_model(network, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 10
    return onnx.shape_inference.infer_shapes(made)


def theirs(
    kind: str, inputs: list[Any], opset: int = 20, reference: bool = False, **attributes: Any
) -> np.ndarray:
    made = model(kind, attributes, inputs, opset)
    feeds = {f"x{i}": array for i, array in enumerate(inputs) if array is not None}
    if reference:
        return ReferenceEvaluator(made).run(None, feeds)[0]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)[0]


def check(actual: np.ndarray, expected: np.ndarray, **tolerance: float) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, **(tolerance or TOLERANCE))


SPECIAL = np.array([-np.inf, -3.5, -2.5, -1.0, -0.5, -0.0, 0.5, 1.5, 2.5, np.inf, np.nan], F32)
INSIDE = np.linspace(-0.9, 0.9, 13).astype(F32)
UNARY = [
    (graph.ReluOp, "Relu", {}, SPECIAL),
    (graph.NegOp, "Neg", {}, SPECIAL),
    (graph.AbsOp, "Abs", {}, SPECIAL),
    (graph.AbsOp, "Abs", {}, whole(-9, 9, 6)),
    (graph.ExpOp, "Exp", {}, normal(20)),
    (graph.LogOp, "Log", {}, np.abs(normal(20))),
    (graph.SqrtOp, "Sqrt", {}, np.abs(normal(20))),
    (graph.ReciprocalOp, "Reciprocal", {}, normal(20)),
    (graph.TanhOp, "Tanh", {}, normal(20)),
    (graph.SigmoidOp, "Sigmoid", {}, normal(20, scale=9)),
    (graph.ErfOp, "Erf", {}, normal(20)),
    (graph.SinOp, "Sin", {}, normal(20)),
    (graph.CosOp, "Cos", {}, normal(20)),
    (graph.TanOp, "Tan", {}, INSIDE),
    (graph.AsinOp, "Asin", {}, INSIDE),
    (graph.AcosOp, "Acos", {}, INSIDE),
    (graph.AtanOp, "Atan", {}, normal(20)),
    (graph.SinhOp, "Sinh", {}, normal(20)),
    (graph.CoshOp, "Cosh", {}, normal(20)),
    (graph.AsinhOp, "Asinh", {}, normal(20)),
    (graph.AcoshOp, "Acosh", {}, 1 + np.abs(normal(20))),
    (graph.AtanhOp, "Atanh", {}, INSIDE),
    (graph.FloorOp, "Floor", {}, SPECIAL),
    (graph.CeilOp, "Ceil", {}, SPECIAL),
    (graph.RoundOp, "Round", {}, SPECIAL),
    (graph.SignOp, "Sign", {}, SPECIAL[:-1]),
    (graph.SoftplusOp, "Softplus", {}, normal(20, scale=30)),
    (graph.SoftsignOp, "Softsign", {}, normal(20)),
    (graph.HardSwishOp, "HardSwish", {}, normal(20, scale=4)),
    (graph.MishOp, "Mish", {}, normal(20)),
    (graph.NotOp, "Not", {}, np.array([True, False])),
    (graph.BitwiseNotOp, "BitwiseNot", {}, whole(0, 255, 5, dtype=U8)),
    (graph.LeakyReluOp, "LeakyRelu", {"alpha": 0.2}, SPECIAL),
    (graph.EluOp, "Elu", {"alpha": 1.5}, normal(20)),
    (graph.SeluOp, "Selu", {"alpha": 1.2, "gamma": 0.9}, normal(20)),
    (graph.CeluOp, "Celu", {"alpha": 0.7}, normal(20)),
    (graph.HardSigmoidOp, "HardSigmoid", {"alpha": 0.3, "beta": 0.4}, normal(20, scale=4)),
    (graph.ThresholdedReluOp, "ThresholdedRelu", {"alpha": 0.4}, normal(20)),
    (graph.GeluOp, "Gelu", {"approximate": "none"}, normal(20)),
    (graph.GeluOp, "Gelu", {"approximate": "tanh"}, normal(20)),
    (graph.IsNaNOp, "IsNaN", {}, SPECIAL),
]


@pytest.mark.parametrize(("op", "kind", "attributes", "x"), UNARY)
def test_unary(op: Any, kind: str, attributes: dict[str, Any], x: np.ndarray):
    check(ours(lambda v: op(v, **attributes), x), theirs(kind, [x], **attributes))


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True), (False, False)])
def test_isinf_detects_the_signs_asked_for(flags: tuple[bool, bool]):
    negative, positive = flags
    expected = theirs(
        "IsInf", [SPECIAL], detect_negative=int(negative), detect_positive=int(positive)
    )
    check(ours(lambda v: graph.IsInfOp(v, negative, positive), SPECIAL), expected)


A, B = normal(2, 3, 4), normal(3, 1, seed=1)
IA, IB = whole(-20, 20, 3, 5), np.array([[-3], [2], [7]], I64)
BITS = whole(0, 255, 3, 5, dtype=U8), whole(0, 8, 5, dtype=U8)
BOOLS = np.array([[True], [False]]), np.array([True, False, True])
BINARY = [
    (graph.AddOp, "Add", A, B),
    (graph.AddOp, "Add", *BITS),
    (graph.SubOp, "Sub", A, B),
    (graph.SubOp, "Sub", *BITS),
    (graph.MulOp, "Mul", A, B),
    (graph.DivOp, "Div", A, B),
    (graph.DivOp, "Div", IA, IB),
    (graph.MaximumOp, "Max", A, B),
    (graph.MinimumOp, "Min", A, B),
    (graph.MaximumOp, "Max", SPECIAL, SPECIAL[::-1].copy()),
    (graph.MinimumOp, "Min", SPECIAL, SPECIAL[::-1].copy()),
    (graph.PReluOp, "PRelu", A, B),
    (graph.PowOp, "Pow", np.abs(A), B),
    (graph.PowOp, "Pow", A, whole(0, 4, 4)),
    (graph.PowOp, "Pow", IA, whole(0, 4, 5)),
    (graph.AndOp, "And", *BOOLS),
    (graph.OrOp, "Or", *BOOLS),
    (graph.XorOp, "Xor", *BOOLS),
    (graph.BitwiseAndOp, "BitwiseAnd", *BITS),
    (graph.BitwiseOrOp, "BitwiseOr", *BITS),
    (graph.BitwiseXorOp, "BitwiseXor", *BITS),
    (graph.EqualOp, "Equal", IA, IB),
    (graph.LessOp, "Less", A, B),
    (graph.LessEqualOp, "LessOrEqual", IA, IB),
    (graph.GreaterOp, "Greater", A, B),
    (graph.GreaterEqualOp, "GreaterOrEqual", IA, IB),
    (graph.ModOp, "Mod", IA, IB),
]


@pytest.mark.parametrize(("op", "kind", "x", "y"), BINARY)
def test_binary(op: Any, kind: str, x: np.ndarray, y: np.ndarray):
    check(ours(op, x, y), theirs(kind, [x, y]))


@pytest.mark.parametrize(("x", "y"), [(A, B), (IA, IB)])
def test_fmod_has_the_sign_of_the_dividend(x: np.ndarray, y: np.ndarray):
    check(ours(lambda a, b: graph.ModOp(a, b, fmod=True), x, y), theirs("Mod", [x, y], fmod=1))


@pytest.mark.parametrize("direction", ["left", "right"])
def test_shift(direction: str):
    expected = theirs("BitShift", [*BITS], direction=direction.upper())
    check(ours(lambda a, b: graph.ShiftOp(a, b, direction), *BITS), expected)


def test_right_shift_of_a_signed_integer_brings_in_zeros():
    x, y = np.array([-1], np.int8), np.array([4], np.int8)
    assert ours(lambda a, b: graph.ShiftOp(a, b, "right"), x, y).tolist() == [15]


def test_integer_division_is_exact_and_survives_zero():
    x = np.array([2**53 + 1, -7, 7, 5, np.iinfo(I64).min], I64)
    y = np.array([1, 2, -2, 0, -1], I64)
    assert ours(graph.DivOp, x, y)[:3].tolist() == [2**53 + 1, -3, -3]


def test_integer_powers_of_negative_exponents_truncate():
    x, y = np.array([2, 1, -1], I64), np.array([-1, -3, -3], I64)
    assert ours(graph.PowOp, x, y).tolist() == [0, 1, -1]


def test_where():
    condition = np.array([[True], [False], [True]])
    check(ours(graph.WhereOp, condition, A, B), theirs("Where", [condition, A, B]))


LOW, HIGH = np.array(-0.5, F32), np.array(0.75, F32)


@pytest.mark.parametrize(("low", "high"), [(LOW, HIGH), (LOW, None), (None, HIGH), (None, None)])
def test_clip(low: Any, high: Any):
    finite = SPECIAL[np.abs(SPECIAL) != np.inf]  # without a bound, onnxruntime clips inf to max
    given = [bound for bound in (low, high) if bound is not None]
    x, *bounds = values(finite, *given)
    op = graph.ClipOp(
        x,
        bounds.pop(0) if low is not None else None,
        bounds.pop(0) if high is not None else None,
    )
    op.verify()
    check(evaluate(op, [finite, *given])[0], theirs("Clip", [finite, low, high]))


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (np.array([-1.9, -0.5, 0.5, 1.9], F32), I32),
        (np.array([0.0, -0.0, 0.1, -3], F32), bool),
        (np.array([-1, 0, 255, 256, 300], I32), U8),
        (np.array([True, False]), F32),
        (np.array([0, 1, -2], I64), bool),
        (np.array([1 / 3, 1e-8, 65504], F32), np.float16),
        (np.array([2**40 + 1], I64), F64),
    ],
)
def test_cast(x: np.ndarray, dtype: Any):
    expected = theirs("Cast", [x], to=ONNX_TYPES[np.dtype(dtype)])
    check(ours(lambda v: graph.CastOp(v, mlir_type(np.dtype(dtype))), x), expected)


SERIES = normal(2, 3, 4, 5)
INDICES = np.array([[0, -1], [2, 1]], I64)


def test_movement():
    x = SERIES
    shape = np.array([3, 0, -1], I64)[[0, 2]]
    check(ours(lambda v: graph.ReshapeOp(v, [3, 40]), x), theirs("Reshape", [x, shape]))
    perm = [2, 0, 3, 1]
    check(ours(lambda v: graph.TransposeOp(v, perm), x), theirs("Transpose", [x], perm=perm))
    expanded = theirs("Expand", [B, np.array([2, 3, 4], I64)])
    check(ours(lambda v: graph.ExpandOp(v, [2, 3, 4]), B), expanded)
    joined = theirs("Concat", [x, x[:, :1]], axis=1)
    check(ours(lambda a, b: graph.ConcatOp([a, b], 1), x, x[:, :1]), joined)
    tiled = theirs("Tile", [x, np.array([1, 2, 1, 3], I64)])
    check(ours(lambda v: graph.TileOp(v, [1, 2, 1, 3]), x), tiled)
    check(ours(graph.DropoutOp, x), x)


def test_slice_walks_back_with_a_negative_step():
    starts, ends = np.array([3, 1], I64), np.array([-9, 5], I64)
    axes, steps = np.array([2, 3], I64), np.array([-2, 3], I64)
    actual = ours(lambda v: graph.SliceOp(v, [0, 0, 3, 1], [2, 3, 2, 2], [1, 1, -2, 3]), SERIES)
    check(actual, theirs("Slice", [SERIES, starts, ends, axes, steps]))


@pytest.mark.parametrize(
    ("mode", "pads"),
    [
        ("constant", [0, 1, 2, 0, 0, 0, 1, 3]),
        ("constant", [0, -1, 2, 0, 0, 0, -1, 3]),
        ("reflect", [0, 0, 2, 1, 0, 1, 3, 4]),
        ("edge", [0, 1, 2, 0, 0, 0, 1, 3]),
        ("wrap", [0, 1, 2, 0, 0, 0, 1, 3]),
    ],
)
def test_pad(mode: str, pads: list[int]):
    value = np.array(2.5, F32) if mode == "constant" else None
    expected = theirs("Pad", [SERIES, np.array(pads, I64), value], mode=mode)
    given = [] if value is None else [value]
    check(ours(lambda x, v=None: graph.PadOp(x, pads, mode, v), SERIES, *given), expected)


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_gather(axis: int):
    indices = INDICES if axis else np.array([1, -2, 0], I64)
    expected = theirs("Gather", [SERIES, indices], axis=axis)
    check(ours(lambda x, i: graph.GatherOp(x, i, axis), SERIES, indices), expected)


def test_gather_elements():
    indices = whole(-4, 4, 2, 3, 7, 5)
    expected = theirs("GatherElements", [SERIES, indices], axis=2)
    check(ours(lambda x, i: graph.GatherElementsOp(x, i, 2), SERIES, indices), expected)


@pytest.mark.parametrize(
    ("batch", "indices"),
    [(0, np.array([[0, 1], [-1, 2]], I64)), (1, np.array([[[2, -1]], [[0, 3]]], I64))],
)
def test_gather_nd(batch: int, indices: np.ndarray):
    expected = theirs("GatherND", [SERIES, indices], batch_dims=batch)
    check(ours(lambda x, i: graph.GatherNDOp(x, i, batch), SERIES, indices), expected)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter(reduction: str):
    repeated = [[0, 1], [1, 2], [0, 1]] if reduction != "none" else [[0, 1], [1, -1], [0, 2]]
    indices, updates = np.array(repeated, I64), normal(3, 4, 5, seed=3)
    expected = theirs("ScatterND", [SERIES, indices, updates], reduction=reduction)
    actual = ours(lambda x, i, u: graph.ScatterNDOp(x, i, u, reduction), SERIES, indices, updates)
    check(actual, expected)
    x, indices, updates = normal(3, 4), np.array([[0, -1], [2, 1]], I64), normal(2, 2, seed=4)
    expected = theirs("ScatterElements", [x, indices, updates], axis=1, reduction=reduction)
    actual = ours(
        lambda x, i, u: graph.ScatterElementsOp(x, i, u, 1, reduction), x, indices, updates
    )
    check(actual, expected)


@pytest.mark.parametrize("flags", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("x", [SERIES, whole(-9, 9, 3, 4, 2)])
def test_cumsum(x: np.ndarray, flags: tuple[int, int]):
    exclusive, reverse = flags
    axis = np.array(1, I64)
    expected = theirs("CumSum", [x, axis], exclusive=exclusive, reverse=reverse)
    check(ours(lambda v: graph.CumSumOp(v, 1, bool(exclusive), bool(reverse)), x), expected)


def test_cumprod():
    x = np.array([2.0, 3.0, 4.0], np.float32)
    for flags, expected in (
        ((False, False), [2, 6, 24]),
        ((True, False), [1, 2, 6]),
        ((False, True), [24, 12, 4]),
        ((True, True), [12, 4, 1]),
    ):
        check(ours(lambda v, f=flags: graph.CumProdOp(v, 0, *f), x), np.float32(expected))


COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
]
IMAGE = normal(1, 2, 6, 7)


def resize(x: np.ndarray, scales: list[float], **options: Any) -> np.ndarray:
    sizes = [int(np.floor(n * np.float32(s))) for n, s in zip(x.shape, scales, strict=True)]
    return ours(lambda v: graph.ResizeOp(v, sizes, scales, **options), x)


@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [[1, 1, 2.0, 1.5], [1, 1, 0.5, 0.65], [1, 1, 1.3, 3.0]])
def test_resize(coordinate: str, mode: str, scales: list[float]):
    actual = resize(IMAGE, scales, mode=mode, coordinate=coordinate)
    options = {"mode": mode, "coordinate_transformation_mode": coordinate}
    expected = theirs("Resize", [IMAGE, None, np.array(scales, F32)], **options)
    # onnxruntime computes coordinates in float32: about 1e-6 of a pixel.
    check(actual, expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinate", ["half_pixel", "asymmetric"])
def test_resize_nearest_modes(nearest: str, coordinate: str):
    scales = [1, 1, 2.5, 0.5]
    actual = resize(IMAGE, scales, nearest_mode=nearest, coordinate=coordinate)
    options = {"nearest_mode": nearest, "coordinate_transformation_mode": coordinate}
    check(actual, theirs("Resize", [IMAGE, None, np.array(scales, F32)], **options))


@pytest.mark.parametrize("scales", [[1, 1, 2.0, 1.5], [1, 1, 0.5, 0.65]])
def test_resize_cubic_without_what_lies_outside(scales: list[float]):
    actual = resize(IMAGE, scales, mode="cubic", cubic_coeff=-0.5, exclude_outside=True)
    options = {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1}
    expected = theirs("Resize", [IMAGE, None, np.array(scales, F32)], **options)
    check(actual, expected, rtol=2e-5, atol=1e-5)


def test_resize_of_integers_reaches_a_whole_number():
    # 3 * (2 / 3) + 6 * (1 / 3) is 4, however the thirds are rounded.
    x = np.array([[[3, 6]]], U8)
    assert resize(x, [1, 1, 3.0], mode="linear").tolist() == [[[3, 3, 4, 5, 6, 6]]]


def test_resize_of_integers_truncates():
    x = whole(0, 255, 1, 1, 4, 5, dtype=U8)
    scales = [1, 1, 2.0, 4.0]  # weights of eighths: every sum is exact
    expected = theirs("Resize", [x, None, np.array(scales, F32)], mode="linear")
    check(resize(x, scales, mode="linear"), expected)


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_with_antialias(mode: str, exclude: bool):
    scales = [1, 1, 0.6, 0.8]
    actual = resize(IMAGE, scales, mode=mode, exclude_outside=exclude, antialias=True)
    options = {"mode": mode, "antialias": 1, "exclude_outside": int(exclude)}
    inputs = [IMAGE, None, np.array(scales, F32)]
    check(actual, theirs("Resize", inputs, reference=True, **options).astype(F32))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_crops_and_extrapolates(mode: str):
    roi = [0, 0, 0.4, -0.2, 1, 1, 0.9, 1.3]
    actual = ours(
        lambda v: graph.ResizeOp(
            v,
            [1, 2, 3, 5],
            [1, 1, 0.5, 5 / 7],
            mode=mode,
            coordinate="tf_crop_and_resize",
            extrapolation=10.0,
            roi=roi,
        ),
        IMAGE,
    )
    options = {
        "mode": mode,
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 10.0,
    }
    sizes = np.array([1, 2, 3, 5], I64)
    check(actual, theirs("Resize", [IMAGE, np.array(roi, F32), None, sizes], **options))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
    ],
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]):
    x, y = normal(*a), normal(*b, seed=1)
    check(ours(graph.MatmulOp, x, y), theirs("MatMul", [x, y]))


CONVS = [
    ((2, 3, 8, 9), (4, 3, 3, 2), [2, 1], [1, 0, 2, 1], [1, 2], 1),
    ((1, 6, 7, 7), (6, 1, 3, 3), [1, 1], [1, 1, 1, 1], [1, 1], 6),
    ((1, 4, 9), (6, 2, 3), [2], [1, 1], [2], 2),
    ((1, 2, 4, 5, 4), (3, 2, 2, 3, 1), [1, 2, 1], [0, 1, 0, 1, 1, 0], [1, 1, 1], 1),
]


@pytest.mark.parametrize(("x", "w", "strides", "pads", "dilations", "group"), CONVS)
@pytest.mark.parametrize("biased", [False, True])
def test_conv(x, w, strides, pads, dilations, group, biased):
    options = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
    bias = [normal(w[0], seed=2)] if biased else []
    arrays = [normal(*x), normal(*w, seed=1), *bias]
    check(ours(lambda *v: graph.ConvOp(*v, **options), *arrays), theirs("Conv", arrays, **options))


@pytest.mark.parametrize(
    ("x", "w", "strides", "pads", "dilations", "group", "extra"),
    [
        ((1, 2, 4, 5), (2, 3, 3, 3), [2, 3], [1, 0, 0, 1], [1, 2], 1, [1, 0]),
        ((1, 4, 6), (4, 2, 3), [2], [1, 1], [1], 2, [1]),
        ((1, 2, 2, 3, 2), (2, 1, 2, 2, 2), [1, 2, 1], [0] * 6, [1, 1, 1], 1, [0, 1, 0]),
    ],
)
def test_conv_transpose(x, w, strides, pads, dilations, group, extra):
    options = {
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "group": group,
        "output_padding": extra,
    }
    arrays = [normal(*x), normal(*w, seed=1), normal(w[1] * group, seed=2)]
    actual = ours(lambda *v: graph.ConvTransposeOp(*v, **options), *arrays)
    check(actual, theirs("ConvTranspose", arrays, **options))


POOLS = [
    ((1, 2, 8, 9), [3, 2], [2, 2], [1, 0, 1, 1], [1, 1], False),
    ((1, 2, 8, 9), [3, 3], [2, 2], [0, 0, 0, 0], [1, 1], True),
    ((1, 2, 9, 9), [3, 3], [2, 2], [1, 1, 1, 1], [2, 1], True),
    ((1, 2, 10), [3], [2], [1, 1], [2], False),
]


@pytest.mark.parametrize(("x", "kernel", "strides", "pads", "dilations", "ceil"), POOLS)
@pytest.mark.parametrize("kind", ["max", "average", "lp"])
def test_pool(x, kernel, strides, pads, dilations, ceil, kind):
    data = normal(*x)
    options = {"strides": strides, "pads": pads, "dilations": dilations}
    ours_options = {"ceil_mode": ceil, "p": 3}
    actual = ours(lambda v: graph.PoolOp(v, kind, kernel, **options, **ours_options), data)
    name = {"max": "MaxPool", "average": "AveragePool", "lp": "LpPool"}[kind]
    extra = {"p": 3} if kind == "lp" else {}
    options = {**options, "kernel_shape": kernel, "ceil_mode": int(ceil)}
    check(actual, theirs(name, [data], **options, **extra))


def counted_average(x, kernel, stride, pads, ceil):
    """The average of each window, cell by cell, as AveragePool-19 and PyTorch define it."""
    (h, w), (kh, kw), s, (top, left, bottom, right) = x.shape, kernel, stride, pads

    def count(size, k, before, after):
        span = size + before + after - k
        n = (-(-span // s) if ceil else span // s) + 1
        return n - 1 if ceil and (n - 1) * s >= size + before else n

    result = np.zeros((count(h, kh, top, bottom), count(w, kw, left, right)))
    for i, j in np.ndindex(*result.shape):
        cells = [(i * s - top + a, j * s - left + b) for a, b in np.ndindex(kh, kw)]
        counted = [(r, c) for r, c in cells if -top <= r < h + bottom and -left <= c < w + right]
        inside = [x[r, c] for r, c in counted if 0 <= r < h and 0 <= c < w]
        result[i, j] = sum(inside) / len(counted)
    return result


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(
    ("stride", "pads"), [(2, (1, 1, 1, 1)), (3, (0, 1, 1, 1)), (2, (1, 0, 2, 0))]
)
def test_average_counts_padding_but_nothing_beyond_it(ceil, stride, pads):
    x = normal(1, 1, 4, 5)
    actual = ours(
        lambda v: graph.PoolOp(
            v,
            "average",
            [3, 3],
            strides=[stride] * 2,
            pads=pads,
            dilations=[1, 1],
            ceil_mode=ceil,
            count_include_pad=True,
        ),
        x,
    )
    expected = counted_average(x[0, 0].astype(F64), (3, 3), stride, pads, ceil)
    check(actual, expected[None, None].astype(F32))


def test_max_pool_passes_nan_on():
    x = np.array([[[1, np.nan, 2, 3]]], F32)
    options = {"strides": [2], "pads": [0, 0], "dilations": [1]}
    actual = ours(lambda v: graph.PoolOp(v, "max", [2], **options), x)
    np.testing.assert_array_equal(actual, np.array([[[np.nan, 3]]], F32))


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


def test_bfloat16_rounds_once():
    x = normal(4, 5).astype(mlir_bf16())
    actual = ours(graph.ExpOp, x)
    assert actual.dtype == x.dtype
    np.testing.assert_array_equal(actual, np.exp(x.astype(F64)).astype(x.dtype))


def mlir_bf16() -> Any:
    import ml_dtypes

    return ml_dtypes.bfloat16


def test_evaluate_has_no_meaning_for_foreign_ops():
    op = TestOp(result_types=[tensor_type((1,), mlir_type(np.dtype(F32)))])
    with pytest.raises(KeyError):
        evaluate(op, [])


def blocked(x: np.ndarray, block: int) -> np.ndarray:
    """[N, C, H, W] as [N, ceil(C / block), H, W, block], by hand."""
    n, c, h, w = x.shape
    result = np.zeros((n, -(-c // block), h, w, block), x.dtype)
    for channel in range(c):
        result[:, channel // block, :, :, channel % block] = x[:, channel]
    return result


def blocked_weights(w: np.ndarray, inner: int, outer: int) -> np.ndarray:
    """[O, I, R, S] as [O / outer, I / inner, R, S, inner, outer], by hand."""
    o, i, r, s = w.shape
    result = np.zeros((-(-o // outer), -(-i // inner), r, s, inner, outer), w.dtype)
    for f, c in np.ndindex(o, i):
        result[f // outer, c // inner, :, :, c % inner, f % outer] = w[f, c]
    return result


def test_layout_transform():
    x, w = normal(2, 6, 3, 4), normal(5, 6, 2, 2)
    packed = ours(lambda v: graph.LayoutTransformOp(v, "NCHW", "NCHW4c"), x)
    np.testing.assert_array_equal(packed, blocked(x, 4))
    back = ours(lambda v: graph.LayoutTransformOp(v, "NCHW4c", "NCHW", x.shape), packed)
    np.testing.assert_array_equal(back, x)
    packed = ours(lambda v: graph.LayoutTransformOp(v, "OIHW", "OIHW4i3o"), w)
    np.testing.assert_array_equal(packed, blocked_weights(w, 4, 3))
    last = ours(lambda v: graph.LayoutTransformOp(v, "NCHW", "NHWC"), x)
    np.testing.assert_array_equal(last, x.transpose(0, 2, 3, 1))
    columns = ours(lambda v: graph.LayoutTransformOp(v, "KN", "NK4n"), x[0, :, :, 0])
    expected = np.pad(x[0, :, :, 0], ((0, 0), (0, 1))).T.reshape(1, 4, 6).transpose(0, 2, 1)
    np.testing.assert_array_equal(columns, expected)


CONV = {"strides": [2, 1], "pads": [1, 1, 0, 1], "dilations": [1, 1]}


@pytest.mark.parametrize(
    ("layout", "weight_layout", "group"),
    [("NCHW4c", "OIHW4i4o", 1), ("NCHW->NCHW4c", "OIHW4o", 1), ("NCHW4c", "OIHW4o", 6)],
)
def test_blocked_conv(layout: str, weight_layout: str, group: int):
    x, w = normal(2, 6, 5, 7), normal(6, 6 // group, 3, 3, seed=1)
    plain = theirs("Conv", [x, w], **CONV, group=group)
    given = x if "->" in layout else blocked(x, 4)
    packed = blocked_weights(w, 4 if "i" in weight_layout else 1, 4)
    packed = packed if "i" in weight_layout else packed[..., 0, :]
    options = {**CONV, "group": group, "layout": layout, "weight_layout": weight_layout}
    actual = ours(lambda a, b: graph.ConvOp(a, b, **options), given, packed)
    check(actual, blocked(plain, 4))


@pytest.mark.parametrize("kind", ["max", "average"])
def test_blocked_pool(kind: str):
    x = normal(1, 6, 5, 7)
    options = {"strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
    name = {"max": "MaxPool", "average": "AveragePool"}[kind]
    plain = theirs(name, [x], **options, kernel_shape=[3, 3])
    actual = ours(
        lambda v: graph.PoolOp(v, kind, [3, 3], layout="NCHW4c", **options), blocked(x, 4)
    )
    check(actual, blocked(plain, 4))


def interpret(block: Block, results: list[Any], *inputs: np.ndarray) -> tuple[Any, ...]:
    block.add_op(func.ReturnOp(*results))
    types = [value.type for value in results]
    function = func.FuncOp("main", ([a.type for a in block.args], types), Region(block))
    module = builtin.ModuleOp([function])
    module.verify()
    interpreter = Interpreter(module)
    for functions in (FuncFunctions, *FUNCTIONS):
        interpreter.register_implementations(functions())
    return interpreter.call_op("main", inputs)


def test_fused_runs_its_body():
    type_ = tensor_type((4,), mlir_type(np.dtype(F32)))
    block, body = Block(arg_types=[type_]), Block(arg_types=[type_])
    with ImplicitBuilder(body) as (a,):
        graph.YieldOp(graph.AddOp(graph.ReluOp(a).result, a).result)
    with ImplicitBuilder(block) as (x,):
        fused = graph.FusedOp([x], [type_], Region(body))
    (result,) = interpret(block, [fused.results[0]], np.array([-1, 2, -3, 4], F32))
    np.testing.assert_array_equal(result, np.array([-1, 4, -3, 8], F32))


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_carries_states_and_stacks_outputs(reverse: bool):
    f32 = mlir_type(np.dtype(F32))
    row, rows = tensor_type((2,), f32), tensor_type((3, 2), f32)
    block, body = Block(arg_types=[row, rows, row]), Block(arg_types=[row, row])
    init, xs, scale = block.args
    with ImplicitBuilder(body) as (state, x):
        following = graph.AddOp(graph.MulOp(state, scale).result, x).result
        graph.YieldOp(following, following)
    with ImplicitBuilder(block):
        scan = graph.ScanOp([init], [xs], Region(body), reverse)
    arrays = normal(2), normal(3, 2, seed=1), normal(2, seed=2)
    last, stacked = interpret(block, list(scan.results), *arrays)
    state, expected = arrays[0], np.zeros((3, 2), F32)
    for step in reversed(range(3)) if reverse else range(3):
        state = state * arrays[2] + arrays[1][step]
        expected[step] = state
    np.testing.assert_array_equal(last, state)
    np.testing.assert_array_equal(stacked, expected)
