"""Vectors of elements that are not side by side: shuffles of whole vectors, or lane by lane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i32
from xdsl.ir import Attribute, SSAValue

from nn_opt.conversion.to_llvm.addressing import offset_pointer
from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.intrinsics import alignment, intrinsic_action, load_properties
from nn_opt.dialects.llvm import ExtractElementOp
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type, lanes_of, numpy_dtype, vector_type

# Up to this distance, loading all that lies between is quicker than loading lane by lane.
LARGEST_SHUFFLED = 4
MASKED_BYTES = 64  # of vectors that are stored in part as fast as as a whole: those of AVX-512


def strided_load(code: Code, pointer: SSAValue, wanted: Attribute, step: int) -> SSAValue:
    """Return elements `step` apart; nothing beyond the first and the last is touched."""
    lanes = lanes_of(wanted) or 1
    if 2 <= step <= LARGEST_SHUFFLED and lanes > step:
        return _shuffled(code, pointer, wanted, step, lanes)
    element = element_type(wanted)
    result = code.poison(wanted)
    for lane in range(lanes):
        here = offset_pointer(code, pointer, element, lane * step)
        value = code.emit(llvm.LoadOp, (here,), element, load_properties(element))
        operands = (result, value, code.integer(lane))
        result = code.emit(llvm.InsertElementOp, operands, wanted)
    return result


def _shuffled(code: Code, pointer: SSAValue, wanted: Attribute, step: int, lanes: int) -> SSAValue:
    """Load `step` whole vectors, the last ones moved back to end with the last element."""
    element = element_type(wanted)
    starts = [min(k * lanes, step * (lanes - 1) + 1 - lanes) for k in range(step)]
    parts: list[SSAValue] = []
    for start in starts:
        here = offset_pointer(code, pointer, element, start)
        parts.append(code.emit(llvm.LoadOp, (here,), wanted, load_properties(wanted)))
    result = parts[0]
    for k in range(1, step):
        mask = {"mask": DenseArrayBase.from_list(i32, _picks(k, starts, step, lanes))}
        result = code.emit(llvm.ShuffleVectorOp, (result, parts[k]), wanted, mask)
    return result


def _picks(k: int, starts: Sequence[int], step: int, lanes: int) -> list[int]:
    """Return where each lane comes from: the first k parts, already in order from k = 2 on, or
    part k, numbered from `lanes` on; -1 if from neither."""
    picks: list[int] = []
    for lane in range(lanes):
        place = step * lane
        first = next(j for j, start in enumerate(starts) if start <= place < start + lanes)
        known = place if k == 1 else lane
        new = lanes + place - starts[k]
        picks.append(known if first < k else new if first == k else -1)
    return picks


def strided_store(
    code: Code, value: SSAValue, pointer: SSAValue, step: int, target: Target
) -> None:
    """Write elements `step` apart: between those of whole vectors, or lane by lane."""
    element, lanes = element_type(value.type), lanes_of(value.type) or 1
    if 2 <= step <= LARGEST_SHUFFLED and target.vector_bytes == MASKED_BYTES:
        _spread_out(code, value, pointer, step)
        return
    for lane in range(lanes):
        here = offset_pointer(code, pointer, element, lane * step)
        item = code.emit(ExtractElementOp, (value, code.integer(lane)), element)
        properties = {"alignment": alignment(element)}
        code.act(code.make(llvm.StoreOp, (item, here), (), properties))


def _spread_out(code: Code, value: SSAValue, pointer: SSAValue, step: int) -> None:
    """Shuffle lanes to where they belong among what lies between, which masks leave alone."""
    lanes, bytes_ = lanes_of(value.type) or 1, numpy_dtype(element_type(value.type)).itemsize
    element = IntegerType(bytes_ * 8)  # not all machines store halves behind a mask
    if element_type(value.type) != element:
        value = code.emit(llvm.BitcastOp, (value,), vector_type(lanes, element))
    width = MASKED_BYTES // bytes_
    whole = vector_type(width, element)
    for start in range(0, step * (lanes - 1) + 1, width):
        places = range(start, start + width)
        picks = [at // step if at % step == 0 and at < step * lanes else -1 for at in places]
        mask = {"mask": DenseArrayBase.from_list(i32, picks)}
        spread = code.emit(llvm.ShuffleVectorOp, (value, value), whole, mask)
        here = offset_pointer(code, pointer, element, start)
        wanted = code.lanes(np.array([pick >= 0 for pick in picks]))
        align = code.constant(IntegerAttr(bytes_, i32), i32)
        intrinsic_action(code, "llvm.masked.store", (spread, here, align, wanted))
