"""Converters of matrix products: MatMul, Gemm and Einsum."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    cast,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.table import Request, converts
from nn_opt.ir.types import element_type, mlir_type, shape_of

F64 = mlir_type(np.float64)


@converts("MatMul")
def matmul(node: Node) -> Results:
    return graph.MatmulOp(node[0], node[1]).result


@converts("Gemm")
def gemm(node: Node) -> Results:
    """alpha * a @ b + beta * c, a and b transposed on demand, c broadcast to the result."""
    a = transposed(node[0], [1, 0]) if node.attrs.flag("transA") else node[0]
    b = transposed(node[1], [1, 0]) if node.attrs.flag("transB") else node[1]
    alpha, beta = node.attrs.float("alpha", 1.0), node.attrs.float("beta", 1.0)
    return weighted_sum(graph.MatmulOp(a, b).result, node.get(2), alpha, beta)


def weighted_sum(product: SSAValue, c: SSAValue | None, alpha: float, beta: float) -> SSAValue:
    """Return alpha * product + beta * c; integers by fractions go through float64."""
    element = element_type(product)
    if dtype_of(product).kind in "iu" and not (alpha.is_integer() and beta.is_integer()):
        product, c = cast(product, F64), None if c is None else cast(c, F64)
    total = _scaled(product, alpha)
    if c is not None and beta != 0.0:
        total = graph.AddOp(total, _scaled(c, beta)).result
    return cast(total, element)


def _scaled(value: SSAValue, factor: float) -> SSAValue:
    return value if factor == 1.0 else graph.MulOp(value, scalar_like(factor, value)).result


def _einsum_refusal(request: Request) -> str:
    return "" if _terms(request.attrs.text("equation")) else "einsum with an odd equation"


def _terms(equation: str) -> tuple[list[str], str] | None:
    """Return the operands' letters and the result's; the letters in order if no result is given."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = "".join(terms).replace("...", "")
    if not letters.isalpha() and letters:
        return None
    if not arrow:
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    return terms, right


@converts("Einsum", refusal=_einsum_refusal)
def einsum(node: Node) -> Results:
    """Operands are multiplied in order; a letter is summed once no later term has it."""
    parsed = _terms(node.attrs.text("equation"))
    assert parsed is not None
    values = node.present()
    if len(parsed[0]) != len(values):
        raise BadNode(f"{len(parsed[0])} terms for {len(values)} operands")
    terms, result = _without_dots(parsed, [rank_of(value) for value in values])
    value, letters = _diagonal(values[0], terms[0])
    for index, (other, term) in enumerate(zip(values[1:], terms[1:], strict=True), 2):
        later = result + "".join(terms[index:])
        other, term = _diagonal(other, term)
        value, letters = _multiply(value, letters, other, term, later)
    value, letters = _summed(value, letters, result)
    return transposed(value, [letters.index(letter) for letter in result])


def _without_dots(parsed: tuple[list[str], str], ranks: Sequence[int]) -> tuple[list[str], str]:
    """Return the terms with the axes that `...` stands for named by digits, the last one '0'."""
    terms = parsed[0]
    counts = [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks, strict=True)]
    if any(count < 0 or (count and "..." not in t) for t, count in zip(terms, counts, strict=True)):
        raise BadNode(f"terms {terms} do not fit operands of ranks {list(ranks)}")
    names = "9876543210"
    widest = max(counts)
    spelled = [t.replace("...", names[10 - n :]) for t, n in zip(terms, counts, strict=True)]
    return spelled, parsed[1].replace("...", names[10 - widest :])


def _diagonal(value: SSAValue, letters: str) -> tuple[SSAValue, str]:
    """Return the value with each repeated letter's axes read along their diagonal."""
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            first, second = letters.index(letter), letters.rindex(letter)
            others = [i for i in range(len(letters)) if i not in (first, second)]
            moved = transposed(value, [first, second, *others])
            size, *rest = shape_of(moved)[1:]
            flat = reshaped(moved, [size * size, *rest])
            starts, sizes = [0] * (1 + len(rest)), [size, *rest]
            value = graph.SliceOp(flat, starts, sizes, [size + 1, *([1] * len(rest))]).result
            letters = letter + "".join(letters[i] for i in others)
    return value, letters


def _summed(value: SSAValue, letters: str, kept: str) -> tuple[SSAValue, str]:
    axes = [axis for axis, letter in enumerate(letters) if letter not in kept]
    if not axes:
        return value, letters
    left = "".join(letter for letter in letters if letter in kept)
    return graph.ReduceOp(value, "sum", axes, False).result, left


def _multiply(
    a: SSAValue, a_letters: str, b: SSAValue, b_letters: str, later: str
) -> tuple[SSAValue, str]:
    """Return one matmul over batch, free and contracted letters, and the letters it leaves."""
    a, a_letters = _summed(a, a_letters, later + b_letters)
    b, b_letters = _summed(b, b_letters, later + a_letters)
    shared = [letter for letter in a_letters if letter in b_letters]
    batch = [letter for letter in shared if letter in later]
    summed = [letter for letter in shared if letter not in later]
    rows = [letter for letter in a_letters if letter not in shared]
    columns = [letter for letter in b_letters if letter not in shared]
    sizes = _sizes(a, a_letters) | _sizes(b, b_letters)
    for letter in shared:
        if shape_of(a)[a_letters.index(letter)] != shape_of(b)[b_letters.index(letter)]:
            return _multiply_broadcast(a, a_letters, b, b_letters, later)
    left = _arranged(a, a_letters, [batch, rows, summed], sizes)
    right = _arranged(b, b_letters, [batch, summed, columns], sizes)
    product = graph.MatmulOp(left, right).result
    letters = [*batch, *rows, *columns]
    return reshaped(product, [sizes[letter] for letter in letters]), "".join(letters)


def _multiply_broadcast(
    a: SSAValue, a_letters: str, b: SSAValue, b_letters: str, later: str
) -> tuple[SSAValue, str]:
    """Return the product where a size 1 meets another size, which a matmul cannot say."""
    letters = a_letters + "".join(letter for letter in b_letters if letter not in a_letters)
    left, right = (_spread(v, names, letters) for v, names in ((a, a_letters), (b, b_letters)))
    return _summed(graph.MulOp(left, right).result, letters, later)


def _spread(value: SSAValue, names: str, letters: str) -> SSAValue:
    sizes = _sizes(value, names)
    order = [names.index(letter) for letter in letters if letter in names]
    return reshaped(transposed(value, order), [sizes.get(letter, 1) for letter in letters])


def _sizes(value: SSAValue, letters: str) -> dict[str, int]:
    return dict(zip(letters, shape_of(value), strict=True))


def _arranged(
    value: SSAValue, letters: str, groups: Sequence[Sequence[str]], sizes: Mapping[str, int]
) -> SSAValue:
    """Return the value with its axes in three groups: the first apart, the others one axis each."""
    order = [letters.index(letter) for group in groups for letter in group]
    batch, *others = groups
    shape = [sizes[letter] for letter in batch]
    shape += [math.prod(sizes[letter] for letter in group) for group in others]
    return reshaped(transposed(value, order), shape)
