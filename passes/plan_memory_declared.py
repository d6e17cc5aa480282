"""Kernels whose bodies are elsewhere: what a plan needs to know of them, as attributes."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Region
from xdsl.utils.hints import isa

from nn_opt.dialects import loop
from nn_opt.passes.plan_memory_in_place import Pair, pairs_in_place
from nn_opt.passes.plan_memory_scratch import move_temporaries

TEMPORARIES = "nn.temporaries"  # the buffers that a caller has to provide: names and types
IN_PLACE = "nn.in_place"  # pairs of an input and the result that may overwrite it


def declaration_of(kernel: func.FuncOp) -> func.FuncOp:
    """Take the temporaries out of a kernel; return its declaration, which says all a plan needs."""
    name, type_, attributes = kernel.sym_name.data, kernel.function_type, dict(kernel.attributes)
    moved = move_temporaries(kernel)
    declared = func.FuncOp(name, type_, Region(), visibility="private")
    declared.location = kernel.location
    declared.attributes |= attributes
    declared.attributes[TEMPORARIES] = ArrayAttr(
        [DictionaryAttr({"name": op.buffer, "type": op.result.type}) for op in moved]
    )
    places = [place for pair in pairs_in_place(kernel) for place in pair]
    declared.attributes[IN_PLACE] = DenseArrayBase.from_list(i64, places)
    return declared


def temporaries_of(kernel: func.FuncOp) -> list[loop.AllocOp]:
    """Return the buffers that a kernel's callers provide, which are no longer in its body."""
    if not kernel.is_declaration:
        return move_temporaries(kernel)
    given = kernel.attributes.get(TEMPORARIES)
    moved = [_alloc(entry) for entry in given.data] if isa(given, ArrayAttr[DictionaryAttr]) else []
    types = [*kernel.function_type.inputs, *(alloc.result.type for alloc in moved)]
    kernel.function_type = FunctionType.from_lists(types, [*kernel.function_type.outputs])
    return moved


def _alloc(entry: DictionaryAttr) -> loop.AllocOp:
    name, type_ = entry.data["name"], entry.data["type"]
    assert isinstance(name, StringAttr)
    assert isa(type_, MemRefType[Attribute])
    return loop.AllocOp(name.data, type_)


def places_in_place(kernel: func.FuncOp) -> list[Pair]:
    """Return which inputs of a kernel may be overwritten by which of its results."""
    if not kernel.is_declaration:
        return pairs_in_place(kernel)
    given = kernel.attributes.get(IN_PLACE)
    places = list(given.iter_values()) if isinstance(given, DenseArrayBase) else []
    numbers = [int(place) for place in places]
    return list(zip(numbers[::2], numbers[1::2], strict=True))
