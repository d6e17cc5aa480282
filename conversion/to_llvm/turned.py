"""Vectors across rows that an unrolled loop reads side by side: pieces of rows, turned by shuffles.

Lane by lane, each element takes a load and an insertion. A square tile of n rows takes n loads and
log2(n) shuffles a row instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr

from nn_opt.conversion.to_llvm.addressing import moving_pointer, offset_pointer
from nn_opt.conversion.to_llvm.code import Buffer, Code
from nn_opt.conversion.to_llvm.indices import Form
from nn_opt.conversion.to_llvm.intrinsics import load_properties
from nn_opt.conversion.to_llvm.strided import LARGEST_SHUFFLED
from nn_opt.conversion.to_llvm.unit import Access
from nn_opt.dialects import loop
from nn_opt.ir.types import element_type, lanes_of, vector_type

LEAST = 4  # rows of a tile that is turned


def load_turned(
    code: Code, op: loop.LoadOp, access: Access, buffer: Buffer, form: Form, wanted: Attribute
) -> None:
    """Keep what this load and those of the next iterations give, if an unrolled loop makes them.

    Nothing is read that these iterations do not read.
    """
    lanes = lanes_of(wanted) or 1
    side = _side(code, op, access, lanes) if access.step > LARGEST_SHUFFLED else None
    if side is None:
        return
    element = element_type(wanted)
    pointer, loads = moving_pointer(code, buffer.pointer, element, form), code.scopes[-1].loads
    if (buffer.root, pointer, form.constant, wanted, access.step) in loads:
        return
    columns: list[SSAValue] = []
    for first in range(0, lanes, side):
        rows = range(first, first + side)
        places = [form.constant + row * access.step for row in rows]
        parts = _turned(code, [_row(code, pointer, element, side, place) for place in places])
        joined = [_joined(code, *pair) for pair in zip(columns, parts, strict=bool(columns))]
        columns = joined or parts
    for k, column in enumerate(columns):
        loads[buffer.root, pointer, form.constant + k, wanted, access.step] = column


def _side(code: Code, op: loop.LoadOp, access: Access, lanes: int) -> int | None:
    """Return how many of the next iterations of an unrolled loop read the next columns."""
    for part, factor in access.flat.terms.items():
        if factor != 1 or not isinstance(part, AffineDimExpr):
            continue
        index = access.indices[part.position]
        nest = _unrolled(op, index)
        if nest is None:
            continue
        side = lanes & -lanes
        while side >= LEAST and nest.trips % side:
            side //= 2
        return side if side >= LEAST and code.indices[index].constant % side == 0 else None
    return None


def _unrolled(op: loop.LoadOp, index: SSAValue) -> loop.ForOp | None:
    """Return the unrolled loop of an index if every iteration of it gets to the load."""
    nest = index.block.parent_op() if isinstance(index, BlockArgument) else None
    around = op.parent_op()
    while isinstance(around, loop.ForOp) and around is not nest:
        around = around.parent_op()
    if isinstance(around, loop.ForOp) and around.how is loop.ForKind.UNROLL:
        return around
    return None


def _row(code: Code, pointer: SSAValue, element: Attribute, side: int, place: int) -> SSAValue:
    wanted = vector_type(side, element)
    here = offset_pointer(code, pointer, element, place)
    return code.emit(llvm.LoadOp, (here,), wanted, load_properties(wanted))


def _turned(code: Code, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the columns of a square of rows: each step puts the lanes of two halves in turns."""
    side = len(rows)
    for _ in range(side.bit_length() - 1):
        halves = zip(rows[: side // 2], rows[side // 2 :], strict=True)
        rows = [
            _shuffled(code, one, other, _in_turns(side, start))
            for one, other in halves
            for start in (0, side // 2)
        ]
    return list(rows)


def _in_turns(side: int, start: int) -> list[int]:
    """Return lanes of two vectors in turns, half of each from `start` on."""
    return [start + k // 2 + side * (k % 2) for k in range(side)]


def _joined(code: Code, first: SSAValue, other: SSAValue) -> SSAValue:
    """Return the lanes of two vectors behind each other; the first may be longer."""
    long, short = lanes_of(first.type) or 1, lanes_of(other.type) or 1
    if long > short:
        other = _shuffled(code, other, other, [k if k < short else -1 for k in range(long)])
    return _shuffled(code, first, other, list(range(long + short)))


def _shuffled(code: Code, one: SSAValue, other: SSAValue, picks: Sequence[int]) -> SSAValue:
    wanted = vector_type(len(picks), element_type(one.type))
    mask = {"mask": DenseArrayBase.from_list(i32, picks)}
    return code.emit(llvm.ShuffleVectorOp, (one, other), wanted, mask)
