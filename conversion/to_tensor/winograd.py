"""Winograd convolutions: stages that transform patches, sum products, and transform back.

The small matrices become sums without table: products by 0 and 1 vanish, rows that differ in signs
share their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import math
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.lowering import Array, Body, Lowering
from nn_opt.conversion.to_tensor.scalar import Scalar
from nn_opt.dialects import graph
from nn_opt.dialects.graph.winograd import Matrix, Winograd, algorithm_named
from nn_opt.ir.types import element_type, shape_of

Row = Sequence[float]


def convert_winograd(k: Lowering, op: graph.ConvOp) -> Array:
    """y = A^T [sum over c of w * (B^T d B)] A, tile by tile; B^T d B in the type of d.

    Stages: conv.v [a, b, n, co, P, Q, ci], conv.m [a, b, n, fo, P, Q, fi], conv.y
    [u, v, n, fo, P, Q, fi] and conv [n, fo, p, q, fi], which picks u, v = p mod t, q mod t.
    """
    assert op.algorithm is not None, "a plain convolution is converted elsewhere"
    algorithm = algorithm_named(op.algorithm.data)
    result = shape_of(op.result)
    tiles = [-(-size // algorithm.tile) for size in result[2:4]]
    v = _transform_input(k, op, algorithm, tiles)
    m = _sum_products(k, op, v)
    y = _transform_output(k, algorithm, m)

    def pick(b: Body) -> Scalar:
        n, fo, p, q, fi = b.par
        t = algorithm.tile
        return b.element(y, [p % t, q % t, n, fo, p // t, q // t, fi])

    return k.compute("conv", result, y.dtype, pick, names="n fo p q fi")


def _transform_input(
    k: Lowering, op: graph.ConvOp, algorithm: Winograd, tiles: Sequence[int]
) -> Array:
    x, pads, t = k.array(op.x), op.pads.get_values(), algorithm.tile
    n, co, _, _, ci = x.shape
    points = range(algorithm.points)

    def formulas(b: Body) -> list[Scalar]:
        image, channel, p, q, lane = b.par
        rows = [p * t + (i - pads[0]) for i in points]
        columns = [q * t + (j - pads[1]) for j in points]

        def patch(i: int, j: int) -> Scalar:
            return b.read(x, [image, channel, rows[i], columns[j], lane], 0)

        return _both_ways(algorithm.inputs, patch)

    shape = (n, co, *tiles, ci)
    stack = [algorithm.points] * 2
    return k.stack("conv.v", stack, shape, x.dtype, formulas, names="n co P Q ci")


def _sum_products(k: Lowering, op: graph.ConvOp, v: Array) -> Array:
    w = k.array(op.w)
    rows, columns, n, co, *tiles, ci = v.shape
    fo, fi = shape_of(op.result)[1], shape_of(op.result)[-1]

    group = w.shape[-1] if len(w.shape) > len("abfkcd") else 0  # channels side by side
    dtype = element_type(op.result)

    def product(b: Body) -> Scalar:
        a, c, image, f, p, q, lane, outer, inner = b.axes
        place = [inner // group, lane, inner % group] if group else [inner, lane]
        left = b.read(v, [a, c, image, outer, p, q, inner])
        return left.cast(dtype) * b.read(w, [a, c, f, outer, *place]).cast(dtype)

    return k.compute(
        "conv.m",
        (rows, columns, n, fo, *tiles, fi),
        dtype,
        product,
        reduce=[co, ci],
        combiner="add",
        names="a b n fo P Q fi co ci",
    )


def _transform_output(k: Lowering, algorithm: Winograd, m: Array) -> Array:
    def formulas(b: Body) -> list[Scalar]:
        return _both_ways(algorithm.outputs, lambda i, j: b.read(m, [i, j, *b.par]))

    shape, stack = m.shape[2:], [algorithm.tile] * 2
    return k.stack("conv.y", stack, shape, m.dtype, formulas, names="n fo P Q fi")


def _both_ways(matrix: Matrix, element: Callable[[int, int], Scalar]) -> list[Scalar]:
    """Return all elements of matrix @ x @ matrix^T, row by row."""
    size = len(matrix[0])
    columns = [times(matrix, [element(i, j) for i in range(size)]) for j in range(size)]
    rows = zip(*columns, strict=True)
    return [value for row in rows for value in times(matrix, row)]


def times(matrix: Matrix, values: Sequence[Scalar]) -> list[Scalar]:
    """Return matrix @ values, common parts computed once."""
    matrix, values = _pair_columns(matrix, values)
    found: list[Scalar] = []
    while len(found) < len(matrix):
        row = matrix[len(found)]
        rest = matrix[len(found) + 1 :]
        halves = _halves(row, rest[0]) if rest else None
        if halves is None:
            found.append(_dot(row, values))
        else:
            found += _sum_and_difference(*halves, values)
    return found


def _pair_columns(matrix: Matrix, values: Sequence[Scalar]) -> tuple[Matrix, list[Scalar]]:
    """Replace neighbours x, y whose factors differ in signs alone by x + y and x - y."""
    columns, paired = list(zip(*matrix, strict=True)), list(values)
    for at in range(len(columns) - 1):
        left, right = columns[at], columns[at + 1]
        pairs = list(zip(left, right, strict=True))
        if all(a and abs(a) == abs(b) for a, b in pairs) and {a == b for a, b in pairs} == {
            True,
            False,
        }:
            x, y = paired[at : at + 2]
            paired[at : at + 2] = [x + y, x - y]
            columns[at] = tuple(a if a == b else 0 for a, b in pairs)
            columns[at + 1] = tuple(a if a != b else 0 for a, b in pairs)
    return tuple(zip(*columns, strict=True)), paired


def _halves(row: Row, other: Row) -> tuple[Row, Row] | None:
    """Return e and o with row = e + o and other = e - o if no factor is in both, else None."""
    even = tuple((a + b) / 2 for a, b in zip(row, other, strict=True))
    odd = tuple((a - b) / 2 for a, b in zip(row, other, strict=True))
    if not any(even) or not any(odd) or any(e and o for e, o in zip(even, odd, strict=True)):
        return None
    return even, odd


def _sum_and_difference(even: Row, odd: Row, values: Sequence[Scalar]) -> list[Scalar]:
    """Return (even + odd) @ values and (even - odd) @ values; the odd factors' scale comes last."""
    scale = min((factor for factor in odd if factor), key=lambda f: (abs(f), f != 1, f < 0))
    common = _dot(even, values)
    part = _dot([factor / scale for factor in odd], values)
    if abs(scale) == 1:
        both = [common + part, common - part]
        return both if scale == 1 else both[::-1]
    return [_fma(scale, part, common), _fma(-scale, part, common)]


def _dot(row: Row, values: Sequence[Scalar]) -> Scalar:
    """Return the sum of factor * value, those with factor 1 first."""
    order = {1.0: 0, -1.0: 1}
    terms = [(f, v) for f, v in zip(row, values, strict=True) if f]
    terms.sort(key=lambda term: order.get(term[0], 2))
    factor, total = terms[0]
    if factor != 1:
        total = total * factor
    for factor, value in terms[1:]:
        if abs(factor) == 1:
            total = total + value if factor == 1 else total - value
        else:
            total = _fma(factor, value, total)
    return total


def _fma(factor: float, value: Scalar, addend: Scalar) -> Scalar:
    op = math.FmaOp(value.like(factor).value, value.value, addend.value)
    return Scalar(op.result, value.type)


def convert_winograd_weights(k: Lowering, op: graph.WinogradWeightsOp) -> Array:
    """w[a, b, f, c, ..] = sum over r, s of G[a, r] * G[b, s] * w[f, c, r, s, ..]."""
    w, matrix = k.array(op.w), op.algorithm.weights
    f, c, _, _, *inner = w.shape

    def formulas(b: Body) -> list[Scalar]:
        outer, rest = b.par[:2], b.par[2:]

        def tap(i: int, j: int) -> Scalar:
            places: list[AffineExpr | int] = [*outer, i, j, *rest]
            return b.read(w, places)

        return _both_ways(matrix, tap)

    stack = [op.algorithm.points] * 2
    return k.stack("weights", stack, (f, c, *inner), w.dtype, formulas)


CONVERTERS = {"graph.winograd_weights": convert_winograd_weights}
