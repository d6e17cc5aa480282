"""All lanes of a vector combined in one order, which is the same on every machine.

LLVM's own reductions of reassociable floats take the order that suits the processor.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import SSAValue

from nn_opt.conversion.to_llvm.code import Code
from nn_opt.dialects.llvm import ExtractElementOp
from nn_opt.ir.types import element_type, lanes_of, vector_type

Combine = Callable[[Code, SSAValue, SSAValue], SSAValue]


def reduce_by_halves(code: Code, value: SSAValue, combine: Combine) -> SSAValue:
    """Return all lanes combined: the lower half with the upper one, down to a few."""
    lanes, element = lanes_of(value.type) or 1, element_type(value.type)
    while lanes > 2 and lanes % 2 == 0:
        lanes //= 2
        low, high = (_part(code, value, range(k * lanes, (k + 1) * lanes)) for k in (0, 1))
        value = combine(code, low, high)
    total: SSAValue | None = None
    for lane in range(lanes):
        item = code.emit(ExtractElementOp, (value, code.integer(lane)), element)
        total = item if total is None else combine(code, total, item)
    assert total is not None, "a vector has lanes"
    return total


def _part(code: Code, value: SSAValue, picks: range) -> SSAValue:
    type_ = vector_type(len(picks), element_type(value.type))
    mask = {"mask": DenseArrayBase.from_list(i32, list(picks))}
    return code.emit(llvm.ShuffleVectorOp, (value, value), type_, mask)
