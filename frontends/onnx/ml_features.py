"""Converters of ai.onnx.ml's operators on features: scaling, filling, encoding, joining."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.ml_scores import DOMAIN, F64
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    cast,
    constant,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, mlir_type, shape_of

Array = NDArray[Any]


def _last(x: SSAValue) -> int:
    """Return the number of features of each row; BadNode for a scalar."""
    if not rank_of(x):
        raise BadNode("operand 0 is a scalar, expected features")
    return shape_of(x)[-1]


def _for_each(values: Array, x: SSAValue, name: str) -> SSAValue:
    if len(values) not in (1, _last(x)):
        raise BadNode(f"{name} has {len(values)} entries, expected 1 or {_last(x)}")
    return constant(values)


@converts("Scaler", domain=DOMAIN)
def scaler(node: Node) -> Results:
    """(x - offset) * scale as float32, of doubles as doubles before that."""
    x = node[0] if element_type(node[0]) == F64 else cast(node[0], F32)
    for name, op in (("offset", graph.SubOp), ("scale", graph.MulOp)):
        values = np.asarray(node.attrs.floats(name) or [], dtype_of(x))
        if not len(values):
            raise BadNode(f"attribute '{name}' is missing or empty")
        x = op(x, _for_each(values, x, name)).result
    return cast(x, F32)


NORMS = {"MAX": "max", "L1": "l1", "L2": "l2"}


@converts("Normalizer", domain=DOMAIN)
def normalizer(node: Node) -> Results:
    """Rows over their norm, or as they are where that is zero; of MAX, the largest element."""
    x, axis = cast(node[0], F32), rank_of(node[0]) - 1
    if not 1 <= rank_of(x) <= 2:
        raise BadNode(f"operand 0 has shape {list(shape_of(x))}, expected rows of features")
    kind = node.attrs.choice("norm", "MAX", NORMS)
    norm = graph.ReduceOp(x, kind, [axis]).result
    zero = graph.EqualOp(norm, scalar_like(0, norm)).result
    return graph.DivOp(x, graph.WhereOp(zero, scalar_like(1, norm), norm).result).result


@converts("Binarizer", domain=DOMAIN)
def binarizer(node: Node) -> Results:
    """1 above the threshold, else 0."""
    x = node[0]
    threshold = node.attrs.float("threshold")
    if isinstance(element_type(x), AnyFloat):
        above = graph.GreaterOp(x, scalar_like(threshold, x)).result
    else:  # an integer is above a number if it is above the whole number below that
        above = graph.GreaterOp(x, scalar_like(math.floor(threshold), x)).result
    return cast(above, element_type(x))


@converts("ArrayFeatureExtractor", domain=DOMAIN)
def array_feature_extractor(node: Node) -> Results:
    """Elements along the last axis; a vector is one row."""
    x = node[0]
    x = reshaped(x, [1, *shape_of(x)]) if rank_of(x) == 1 else x
    _last(x)
    places = reshaped(node[1], [math.prod(shape_of(node[1]))])
    return graph.GatherOp(x, places, rank_of(x) - 1).result


@converts("FeatureVectorizer", domain=DOMAIN)
def feature_vectorizer(node: Node) -> Results:
    """Rows side by side as float32, each cut or filled with zeros to a width of its own."""
    widths = node.attrs.ints("inputdimensions") or []
    operands = node.present()
    if len(widths) != len(operands):
        raise BadNode(f"inputdimensions has {len(widths)} entries, expected {len(operands)}")
    parts = [_of_width(x, width) for x, width in zip(operands, widths, strict=True)]
    return graph.ConcatOp(parts, 1).result


def _of_width(x: SSAValue, width: int) -> SSAValue:
    x = cast(x, F32)
    if rank_of(x) == 1:
        x = reshaped(x, [1, *shape_of(x)])
    if rank_of(x) < 1 or width < 0:
        raise BadNode(f"an operand of shape {list(shape_of(x))} has no rows of {width}")
    rows = shape_of(x)[0]
    x = reshaped(x, [rows, math.prod(shape_of(x)[1:])])
    missing = width - shape_of(x)[1]
    if missing > 0:
        return graph.PadOp(x, [0, 0, 0, missing], "constant", None).result
    return graph.SliceOp(x, [0, 0], [rows, width], [1, 1]).result if missing else x


@converts("Imputer", domain=DOMAIN)
def imputer(node: Node) -> Results:
    """What equals the replaced value, NaN too, becomes a value of its column."""
    x = node[0]
    kind = "floats" if isinstance(element_type(x), AnyFloat) else "int64s"
    found = node.attrs.floats(f"imputed_value_{kind}") or node.attrs.ints(f"imputed_value_{kind}")
    if not found:
        raise BadNode(f"attribute 'imputed_value_{kind}' is missing or empty")
    values = _for_each(np.asarray(found, dtype_of(x)), x, f"imputed_value_{kind}")
    if kind == "int64s":
        hit = graph.EqualOp(x, scalar_like(node.attrs.int("replaced_value_int64"), x)).result
    else:
        replaced = node.attrs.float("replaced_value_float")
        is_nan = math.isnan(replaced)
        hit = graph.IsNaNOp(x) if is_nan else graph.EqualOp(x, scalar_like(replaced, x))
        hit = hit.result
    return graph.WhereOp(hit, values, x).result


@converts("OneHotEncoder", domain=DOMAIN)
def one_hot_encoder(node: Node) -> Results:
    """1 at the category of each element; nothing where it has none, with `zeros` or without."""
    categories = node.attrs.ints("cats_int64s")
    if not categories:
        raise BadNode("cats_int64s is missing or empty, expected it for an operand of numbers")
    x = cast(node[0], mlir_type(np.int64))
    rows = reshaped(x, [*shape_of(x), 1])
    return cast(graph.EqualOp(rows, constant(np.asarray(categories, np.int64))).result, F32)


@converts("LabelEncoder", domain=DOMAIN)
def label_encoder(node: Node) -> Results:
    """What stands beside each element in a table, else a default; of equal keys the first counts.

    From version 4 on, NaN is a key like another one; before, it is none.
    """
    x = node[0]
    keys, values, default = _label_table(node, x)
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    numbers = keys[~np.isnan(keys)] if keys.dtype.kind == "f" else keys
    found = graph.ExpandOp(constant(default.reshape(())), list(shape_of(x))).result
    if len(numbers):
        found = _looked_up(x, numbers, values[: len(numbers)], found)
    if len(numbers) < len(keys) and node.version >= 4:
        at_nan = constant(values[len(numbers)].reshape(()))
        found = graph.WhereOp(graph.IsNaNOp(x).result, at_nan, found).result
    return found


def _looked_up(x: SSAValue, keys: Array, values: Array, default: SSAValue) -> SSAValue:
    """Return values by keys, which ascend."""
    flat = reshaped(x, [math.prod(shape_of(x))])
    places = graph.SearchSortedOp(constant(keys), flat).result
    places = graph.MinimumOp(places, scalar_like(len(keys) - 1, places)).result
    places = reshaped(places, shape_of(x))
    hit = graph.EqualOp(graph.GatherOp(constant(keys), places).result, x).result
    return graph.WhereOp(hit, graph.GatherOp(constant(values), places).result, default).result


def _label_table(node: Node, x: SSAValue) -> tuple[Array, Array, Array]:
    """Return the keys as the operand's type holds them, the values and the default."""
    keys, _ = _side(node, "keys")
    values, kind = _side(node, "values")
    if len(keys) != len(values):
        raise BadNode(f"there are {len(keys)} keys and {len(values)} values")
    tensor = node.attrs.tensor("default_tensor")
    if tensor is not None:
        default = node.read_tensor(tensor)
    elif kind == "int64s":
        default = np.asarray(node.attrs.int("default_int64", -1))
    else:
        default = np.asarray(node.attrs.float("default_float", -0.0))
    return keys.astype(dtype_of(x)), values, default.astype(values.dtype)


def _side(node: Node, side: str) -> tuple[Array, str]:
    tensor = node.attrs.tensor(f"{side}_tensor")
    if tensor is not None:
        array = node.read_tensor(tensor).reshape(-1)
        return array, "int64s" if array.dtype.kind in "iu" else "floats"
    ints, floats = node.attrs.ints(f"{side}_int64s"), node.attrs.floats(f"{side}_floats")
    if ints:
        return np.asarray(ints, np.int64), "int64s"
    if floats:
        return np.asarray(floats, np.float32), "floats"
    raise BadNode(f"the table has no {side} that are numbers")
