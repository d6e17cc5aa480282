"""loop.load and loop.store on buffers in memory: plain, strided, and with a default outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    VectorType,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from nn_opt.conversion.to_llvm.addressing import (
    NO_FLAGS,
    ONE_VALUE,
    both,
    compare,
    element_pointer,
    evaluate,
    moving_pointer,
    offset_pointer,
    within,
)
from nn_opt.conversion.to_llvm.code import Buffer, Code
from nn_opt.conversion.to_llvm.indices import Form
from nn_opt.conversion.to_llvm.intrinsics import (
    EXACT,
    alignment,
    intrinsic,
    intrinsic_action,
    load_properties,
)
from nn_opt.conversion.to_llvm.machine import POINTER, machine_type
from nn_opt.conversion.to_llvm.registers import read_register, write_register
from nn_opt.conversion.to_llvm.strided import strided_load, strided_store
from nn_opt.conversion.to_llvm.turned import load_turned
from nn_opt.conversion.to_llvm.unit import Access
from nn_opt.dialects import loop
from nn_opt.dialects.llvm import GEPOp, SelectOp
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.memory import remembered
from nn_opt.ir.target import target_around
from nn_opt.ir.types import element_type, is_vector, lanes_of, shape_of, vector_type

PREFETCHED = "prefetched"  # the root of what is only asked for: no store changes it


@remembered
def stored_type(type_: Attribute) -> Attribute:
    """Return the type of a value in memory: a bool takes a byte."""
    type_ = machine_type(type_)
    if element_type(type_) != i1:
        return type_
    lanes = lanes_of(type_)
    return i8 if lanes is None else vector_type(lanes, i8)


def lower_load(code: Code, op: loop.LoadOp) -> None:
    """%v = loop.load %x[...]  ->  a load, or the register that holds it"""
    access, result = code.unit.access(op), op.results[0]
    form = evaluate(code, access.flat, access.indices)
    if access.buffer in code.registers:
        code.bind(result, read_register(code, op, form))
        return
    buffer = code.buffers[access.buffer]
    value = guarded_load(code, op, access, buffer, form) if "default" in op.properties else None
    if value is None:
        load_turned(code, op, access, buffer, form, stored_type(result.type))
        value = plain_load(code, buffer, result.type, form, access.step)
        prefetch(code, op, buffer, form)
    code.bind(result, from_memory(code, value, result.type))


def prefetch(code: Code, op: loop.LoadOp, buffer: Buffer, form: Form) -> None:
    """Ask for what lies further on, into the second cache, once for each place in a scope."""
    distance = op.attributes.get("prefetch")
    if not isinstance(distance, IntegerAttr):
        return
    element = stored_type(element_type(op.results[0].type))
    moving = moving_pointer(code, buffer.pointer, element, form)
    key = (PREFETCHED, moving, form.constant, element, distance.value.data)
    if key in code.scopes[-1].loads:
        return
    code.scopes[-1].loads[key] = moving
    there = offset_pointer(code, moving, element, form.constant + distance.value.data)
    read, second_cache, data = (code.constant(IntegerAttr(k, i32), i32) for k in (0, 2, 1))
    intrinsic_action(code, "llvm.prefetch", (there, read, second_cache, data))


def lower_store(code: Code, op: loop.StoreOp) -> None:
    """loop.store %v, %x[...]  ->  a store, or the register's new value"""
    access, source = code.unit.access(op), op.operands[0]
    form = evaluate(code, access.flat, access.indices)
    value = code.value(source)
    if access.buffer in code.registers:
        write_register(code, op, form, value)
        return
    buffer = code.buffers[access.buffer]
    value = to_memory(code, value, source.type)
    element = element_type(value.type)
    pointer = element_pointer(code, buffer.pointer, element, form)
    if access.step != 1 and is_vector(value.type):
        strided_store(code, value, pointer, access.step, target_around(op))
    else:
        properties = {"alignment": alignment(element)}
        code.act(code.make(llvm.StoreOp, (value, pointer), (), properties))
    code.forget_loads(buffer.root)


def from_memory(code: Code, value: SSAValue, type_: Attribute) -> SSAValue:
    """Return a loaded value as its type in registers."""
    wanted = code.unit.type_of(type_)
    return value if value.type == wanted else code.emit(llvm.TruncOp, (value,), wanted)


def to_memory(code: Code, value: SSAValue, type_: Attribute) -> SSAValue:
    """Return a value as its type in memory."""
    wanted = stored_type(type_)
    if value.type == wanted:
        return value
    kind = llvm.ZExtOp if element_type(value.type) == i1 else llvm.SExtOp  # else: an index
    return code.emit(kind, (value,), wanted)


def plain_load(code: Code, buffer: Buffer, type_: Attribute, form: Form, step: int) -> SSAValue:
    """Return what is at `form`, all of it inside; a load that was made before is reused."""
    wanted = stored_type(type_)
    element = element_type(wanted)
    pointer = moving_pointer(code, buffer.pointer, element, form)
    key = (buffer.root, pointer, form.constant, wanted, step)
    loads = code.scopes[-1].loads
    if key not in loads:
        here = offset_pointer(code, pointer, element, form.constant)
        loads[key] = _load(code, here, wanted, step)
    return loads[key]


def _load(code: Code, pointer: SSAValue, wanted: Attribute, step: int) -> SSAValue:
    if step != 1 and lanes_of(wanted) is not None:
        return strided_load(code, pointer, wanted, step)
    return code.emit(llvm.LoadOp, (pointer,), wanted, load_properties(wanted))


def lane_pointers(
    code: Code, pointer: SSAValue, element: Attribute, lanes: int, step: int
) -> SSAValue:
    """Return a vector of the pointers to each lane; 32-bit offsets make the best gathers."""
    offsets = code.lanes(np.arange(lanes, dtype=np.int32) * np.int32(step))
    properties = {"rawConstantIndices": ONE_VALUE, "elem_type": element, "noWrapFlags": NO_FLAGS}
    return code.emit(GEPOp, (pointer, offsets), VectorType(POINTER, [lanes]), properties)


def gather(
    code: Code,
    pointer: SSAValue,
    wanted: Attribute,
    step: int,
    mask: SSAValue,
    otherwise: SSAValue,
) -> SSAValue:
    """Return the elements `step` apart where the mask holds."""
    lanes = shape_of(wanted)[0]
    pointers = lane_pointers(code, pointer, element_type(wanted), lanes, step)
    operands = (pointers, mask, otherwise)
    return intrinsic(code, "llvm.masked.gather", operands, wanted)


@dataclass(frozen=True)
class Bounds:
    """When an access is inside: for all lanes alike, and lane by lane (None: no condition)."""

    uniform: SSAValue | bool
    by_lane: SSAValue | None


def guarded_load(
    code: Code, op: loop.LoadOp, access: Access, buffer: Buffer, form: Form
) -> SSAValue | None:
    """Return the element or the default; None if the access is known to be inside."""
    bounds = bounds_of(code, op, access)
    if bounds.uniform is True and bounds.by_lane is None:
        return None
    assert op.default is not None
    wanted = stored_type(op.result.type)
    otherwise = code.number(scalar_value(op.default), wanted)
    if bounds.uniform is False:
        return otherwise
    element = element_type(wanted)
    if lanes_of(wanted) is None:
        return _select_load(code, bounds.uniform, buffer, form, otherwise)
    mask = lane_mask(code, bounds, lanes_of(wanted) or 1)
    pointer = element_pointer(code, buffer.pointer, element, form)
    if op.step != 1:
        return gather(code, pointer, wanted, op.step, mask, otherwise)
    operands = (pointer, mask, otherwise)
    return intrinsic(code, "llvm.masked.load", operands, wanted)


def _select_load(
    code: Code, inside: SSAValue | bool, buffer: Buffer, form: Form, otherwise: SSAValue
) -> SSAValue:
    """Load from the buffer's start where outside, then choose: no branch."""
    assert not isinstance(inside, bool)
    element = otherwise.type
    pointer = element_pointer(code, buffer.pointer, element, form)
    safe = code.emit(SelectOp, (inside, pointer, buffer.pointer), POINTER, _NO_FAST)
    value = code.emit(llvm.LoadOp, (safe,), element, load_properties(element))
    return code.emit(SelectOp, (inside, value, otherwise), element, _NO_FAST)


_NO_FAST = {"fastmathFlags": EXACT}


def bounds_of(code: Code, op: loop.LoadOp, access: Access) -> Bounds:
    """Return when a load is inside its buffer."""
    lanes = lanes_of(op.result.type) or 1
    moving, pace = lane_dimension(shape_of(op.memref), access.strides, op.step if lanes > 1 else 0)
    uniform: list[SSAValue | bool] = []
    by_lane: SSAValue | None = None
    for dimension, (source, size) in enumerate(
        zip(access.by_dimension, shape_of(op.memref), strict=True)
    ):
        form = evaluate(code, source, op.indices)
        if dimension != moving or _all_inside(form, (lanes - 1) * pace, size):
            uniform.append(within(code, form, size) if dimension != moving else True)
        else:
            by_lane = _lanes_inside(code, form, lanes, pace, size)
    return Bounds(both(code, uniform), by_lane)


def lane_dimension(
    shape: Sequence[int], strides: Sequence[int], step: int
) -> tuple[int | None, int]:
    """Return along which dimension the lanes of a vector go, and by how much (None: they do not).

    It is the outermost dimension whose neighbours are a divisor of `step` apart.
    """
    if not step:
        return None, 0
    for dimension, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        if size > 1 and step % stride == 0:
            return dimension, step // stride
    return len(shape) - 1, step


def _all_inside(form: Form, reach: int, size: int) -> bool:
    low, high = form.range
    return min(low, low + reach) >= 0 and max(high, high + reach) < size


def _lanes_inside(code: Code, form: Form, lanes: int, pace: int, size: int) -> SSAValue:
    """Return for each lane whether 0 <= form + lane * pace < size, in 32 bits."""
    type_ = vector_type(lanes, i32)
    if not form.terms:
        inside = [0 <= form.constant + lane * pace < size for lane in range(lanes)]
        return code.lanes(np.array(inside))
    narrow = code.materialize(form)
    if narrow.type != i32:
        narrow = code.share(llvm.TruncOp, (narrow,), i32)
    offsets = code.lanes(np.arange(lanes, dtype=np.int32) * np.int32(pace))
    places = code.share(llvm.AddOp, (splat(code, narrow, type_), offsets), type_)
    return compare(code, "ult", places, code.number(size, type_))


def splat(code: Code, value: SSAValue, type_: Attribute) -> SSAValue:
    """Return a vector with the value in each lane, shared like any value of its operands."""
    lanes = shape_of(type_)[0]
    nothing = code.poison(type_)
    operands = (nothing, value, code.integer(0))
    first = code.share(llvm.InsertElementOp, operands, type_, key="splat")
    return code.share(llvm.ShuffleVectorOp, (first, nothing), type_, _all_first(lanes), "splat")


@lru_cache(maxsize=64)
def _all_first(lanes: int) -> dict[str, Attribute]:
    return {"mask": DenseArrayBase.from_list(i32, [0] * lanes)}


def lane_mask(code: Code, bounds: Bounds, lanes: int) -> SSAValue:
    """Return both kinds of conditions as one vector."""
    type_ = vector_type(lanes, i1)
    if isinstance(bounds.uniform, bool):
        assert bounds.by_lane is not None
        return bounds.by_lane
    uniform = splat(code, bounds.uniform, type_)
    if bounds.by_lane is None:
        return uniform
    return code.share(llvm.AndOp, (uniform, bounds.by_lane), type_)
