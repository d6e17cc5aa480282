"""What all operators of attention share: softmax(q @ k^T * scale + mask) @ v, head by head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Attribute, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    I64,
    BadNode,
    cast,
    constant,
    rank_of,
    reshaped,
    scalar,
    scalar_like,
    transposed,
)
from nn_opt.ir.types import element_type, shape_of

SCALED, CAPPED, MASKED, WEIGHTS = range(4)  # the stages of a matrix of scores, as ONNX counts them


@dataclass(frozen=True)
class Mask:
    """Which keys a query sees, and what is added to its scores.

    All broadcast to [batch, heads, queries, keys]. allowed: truth values that all must hold;
    bias: floating point; guarded: rows without any key may exist, and their weights are 0.
    """

    allowed: tuple[SSAValue, ...] = ()
    bias: SSAValue | None = None
    guarded: bool = False

    def and_allowed(self, *more: SSAValue, guarded: bool = True) -> Mask:
        """Return this mask with further conditions."""
        return replace(self, allowed=(*self.allowed, *more), guarded=self.guarded or guarded)

    def with_bias(self, more: SSAValue) -> Mask:
        """Return this mask with something more to add."""
        if self.bias is not None:
            more = graph.AddOp(self.bias, cast_like(more, self.bias)).result
        return replace(self, bias=more)

    @property
    def parts(self) -> tuple[SSAValue, ...]:
        """What the mask is made of."""
        return self.allowed if self.bias is None else (*self.allowed, self.bias)


@dataclass(frozen=True)
class Form:
    """How attention is computed.

    stage: of the matrix that is a result, too; None for none. sink: a score for each head, as
    [1, heads, 1, 1], that takes part in the softmax and weighs nothing.
    """

    scale: float
    softcap: float = 0.0
    softmax: Attribute | None = None  # the type to compute weights in, if not that of scores
    stage: int | None = None
    sink: SSAValue | None = None


@dataclass(frozen=True)
class Attended:
    """The result [batch, heads, queries, size] and a matrix of [batch, heads, queries, keys]."""

    y: SSAValue
    matrix: SSAValue | None


def cast_like(value: SSAValue, other: SSAValue) -> SSAValue:
    """Return the value with another one's element type."""
    return cast(value, element_type(other))


def is_half(value: SSAValue) -> bool:
    """Return whether elements have 16 bits: sums of their products are wider."""
    return isinstance(element_type(value), Float16Type | BFloat16Type)


def split_heads(value: SSAValue, heads: int) -> SSAValue:
    """Return [batch, length, heads * size] as [batch, heads, length, size]."""
    batch, length, hidden = shape_of(value)
    if heads < 1 or hidden % heads:
        raise BadNode(f"rows of {hidden} elements do not divide into {heads} heads")
    return transposed(reshaped(value, [batch, length, heads, hidden // heads]), [0, 2, 1, 3])


def joined_heads(value: SSAValue) -> SSAValue:
    """Return [batch, heads, length, size] as [batch, length, heads * size]."""
    batch, heads, length, size = shape_of(value)
    return reshaped(transposed(value, [0, 2, 1, 3]), [batch, length, heads * size])


def repeated_heads(value: SSAValue, heads: int) -> SSAValue:
    """Return [batch, groups, length, size] with each group once for each of its heads."""
    batch, groups, length, size = shape_of(value)
    if heads == groups:
        return value
    apart = reshaped(value, [batch, groups, 1, length, size])
    spread = graph.ExpandOp(apart, [batch, groups, heads // groups, length, size]).result
    return reshaped(spread, [batch, heads, length, size])


def attend(q: SSAValue, k: SSAValue, v: SSAValue, form: Form, mask: Mask) -> Attended:
    """Return softmax(q @ k^T * scale + mask) @ v.

    Shapes: q [batch, heads, queries, size], k [batch, groups, keys, size], v likewise.
    Raises: BadNode if the shapes do not go together.
    """
    check_heads(q, k, v)
    more = () if form.sink is None else (form.sink,)
    heads = _Heads(q, k, (*mask.parts, *more))
    stages = [_scores(heads.queries(q), heads.shared(k), form.scale)]
    stages.append(_capped(stages[-1], form.softcap))
    stages.append(_masked(stages[-1], mask, heads))
    sink = None if form.sink is None else heads.masking(form.sink)
    stages.append(weights_of(stages[-1], form.softmax, sink))
    y = graph.MatmulOp(stages[-1], cast_like(heads.shared(v), stages[-1])).result
    if mask.guarded and mask.parts:
        dead = _dead_rows(mask, heads)
        y = _zero_where(dead, y)
        stages[WEIGHTS] = _zero_where(dead, stages[WEIGHTS])
    matrix = None if form.stage is None else heads.restored(stages[form.stage])
    return Attended(cast_like(heads.restored(y), q), matrix and cast_like(matrix, q))


def check_heads(q: SSAValue, k: SSAValue, v: SSAValue) -> None:
    """Raise BadNode unless query, key and value go together."""
    shapes = [list(shape_of(value)) for value in (q, k, v)]
    (b, heads, _, size), (kb, groups, keys, ksize), (vb, vgroups, length, _) = shapes
    if (b, b, size, groups, keys) != (kb, vb, ksize, vgroups, length) or heads % max(groups, 1):
        raise BadNode(
            f"query {shapes[0]}, key {shapes[1]} and value {shapes[2]} do not go together,"
            " expected [batch, heads, length, size] of one batch and size, heads a multiple"
            " of those of key and value"
        )


@dataclass(frozen=True)
class _Heads:
    """How heads that share keys are laid out: alone, as rows of one product, or on an axis."""

    q: SSAValue
    k: SSAValue
    parts: tuple[SSAValue, ...]  # of the mask

    @property
    def members(self) -> int:
        """Heads that share keys and values."""
        return shape_of(self.q)[1] // max(shape_of(self.k)[1], 1)

    @property
    def as_rows(self) -> bool:
        """One query of each head: the heads of a group can be the rows of one product."""
        parts = (shape_of(part)[-3:-2] for part in self.parts)
        return shape_of(self.q)[2] == 1 and all(sizes in ((), (1,)) for sizes in parts)

    def queries(self, value: SSAValue) -> SSAValue:
        batch, heads, length, size = shape_of(value)
        if self.members == 1:
            return value
        rows = [self.members] if self.as_rows else [self.members, length]
        return reshaped(value, [batch, heads // self.members, *rows, size])

    def shared(self, value: SSAValue) -> SSAValue:
        batch, groups, length, size = shape_of(value)
        if self.members == 1 or self.as_rows:
            return value
        return reshaped(value, [batch, groups, 1, length, size])

    def masking(self, part: SSAValue) -> SSAValue:
        """Return a part of a mask so that it broadcasts to the scores."""
        shape = (*[1] * (4 - rank_of(part)), *shape_of(part))
        if self.members > 1 and not self.as_rows:
            groups = [1, 1] if shape[1] == 1 else [shape[1] // self.members, self.members]
            shape = (shape[0], *groups, *shape[2:])
        return reshaped(part, shape)

    def restored(self, value: SSAValue) -> SSAValue:
        """Return [..., columns] of all heads as [batch, heads, queries, columns]."""
        return reshaped(value, [*shape_of(self.q)[:3], shape_of(value)[-1]])


def _scores(q: SSAValue, k: SSAValue, scale: float) -> SSAValue:
    """Return q @ k^T * scale, in float32 for half floats."""
    swapped = transposed(k, [*range(rank_of(k) - 2), rank_of(k) - 1, rank_of(k) - 2])
    return _times(graph.MatmulOp(q, swapped, wide=is_half(q)).result, scale)


def _times(scores: SSAValue, factor: float) -> SSAValue:
    return scores if factor == 1.0 else graph.MulOp(scores, scalar_like(factor, scores)).result


def _capped(scores: SSAValue, cap: float) -> SSAValue:
    """Return cap * tanh(scores / cap), the scores themselves for no cap."""
    if cap <= 0.0:
        return scores
    return _times(graph.TanhOp(_times(scores, 1 / cap)).result, cap)


def _masked(scores: SSAValue, mask: Mask, heads: _Heads) -> SSAValue:
    if mask.bias is not None:
        scores = graph.AddOp(scores, cast_like(heads.masking(mask.bias), scores)).result
    for part in mask.allowed:
        lowest = scalar_like(-np.inf, scores)
        scores = graph.WhereOp(heads.masking(part), scores, lowest).result
    return scores


def weights_of(
    scores: SSAValue, precision: Attribute | None, sink: SSAValue | None = None
) -> SSAValue:
    """Return the softmax of rows, computed in a type of its own where one is given."""
    if sink is not None:
        *outer, keys = shape_of(scores)
        column = graph.ExpandOp(cast_like(sink, scores), [*outer, 1]).result
        both = weights_of(graph.ConcatOp([scores, column], len(outer)).result, precision)
        return sliced(both, len(outer), 0, keys)
    if precision is None:
        return graph.SoftmaxOp(scores, -1).result
    return cast_like(graph.SoftmaxOp(cast(scores, precision), -1).result, scores)


def _dead_rows(mask: Mask, heads: _Heads) -> SSAValue:
    """Return which rows see no key: all that is added to their scores is -infinity."""
    zero, lowest = scalar(0, F32), scalar(-np.inf, F32)
    total = None if mask.bias is None else cast(heads.masking(mask.bias), F32)
    for part in mask.allowed:
        total = graph.WhereOp(heads.masking(part), zero if total is None else total, lowest).result
    assert total is not None
    return graph.EqualOp(graph.ReduceOp(total, "max", [-1], True).result, lowest).result


def _zero_where(dead: SSAValue, value: SSAValue) -> SSAValue:
    return graph.WhereOp(dead, scalar_like(0, value), value).result


@dataclass(frozen=True)
class Reach:
    """How far a query sees: so many keys back and ahead of its own place; None for any number."""

    back: int | None
    ahead: int | None

    def mask(self, queries: int, keys: int, offset: int | SSAValue, onto: Mask) -> Mask:
        """Return a mask with these bounds; query i stands at place i + offset of the keys.

        An offset that is only known at run time is a vector, one for each batch.
        """
        if self == Reach(None, None):
            return onto
        if isinstance(offset, int):
            return self._static(queries, keys, offset, onto)
        rows = graph.AddOp(cast(_batches(offset), I64), constant(_column(queries))).result
        columns, more = constant(np.arange(keys)), list[SSAValue]()
        if self.ahead is not None:
            last = graph.AddOp(rows, scalar(self.ahead, I64)).result
            more.append(graph.LessEqualOp(columns, last).result)
        if self.back is not None:
            first = graph.SubOp(rows, scalar(self.back, I64)).result
            more.append(graph.GreaterEqualOp(columns, first).result)
        return onto.and_allowed(*more)

    def _static(self, queries: int, keys: int, offset: int, onto: Mask) -> Mask:
        distance = np.arange(keys) - (_column(queries) + offset)
        seen = np.ones_like(distance, np.bool_)
        seen &= True if self.ahead is None else distance <= self.ahead
        seen &= True if self.back is None else distance >= -self.back
        if seen.all():
            return onto
        return onto.and_allowed(constant(seen), guarded=not seen.any(axis=1).all())


def _column(count: int):
    return np.arange(count).reshape(-1, 1)


def _batches(vector: SSAValue) -> SSAValue:
    """Return one number a batch as [batch, 1, 1, 1]."""
    return reshaped(vector, [*shape_of(vector), 1, 1, 1])


def first_keys(lengths: SSAValue, keys: int) -> SSAValue:
    """Return which keys are among the first so many of each batch, [batch, 1, 1, keys]."""
    return graph.LessOp(constant(np.arange(keys)), cast(_batches(lengths), I64)).result


def appended(past: SSAValue | None, new: SSAValue) -> SSAValue:
    """Return keys or values after those of earlier steps, along the axis of length."""
    if past is None or not shape_of(past)[2]:
        return new
    return graph.ConcatOp([past, new], 2).result


def broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Return whether a shape broadcasts to another one of no smaller rank."""
    pairs = zip(reversed(shape), reversed(to), strict=False)
    return len(shape) <= len(to) and all(size in (1, wanted) for size, wanted in pairs)
