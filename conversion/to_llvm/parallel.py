"""Parallel loops: the body becomes a function of (begin, end, context) that the pool calls."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.addressing import (
    compare,
    in_order,
    offset_pointer,
    quotient,
    remainder,
)
from nn_opt.conversion.to_llvm.code import NO_WRAP, Buffer, Code
from nn_opt.conversion.to_llvm.indices import Form
from nn_opt.conversion.to_llvm.machine import POINTER
from nn_opt.conversion.to_llvm.symbols import SLOT, address_of, call, function, stack
from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, numpy_dtype

RUNNER = "nn_parallel"  # (function, context, extent); the runtime splits 0 .. extent-1


@dataclass(frozen=True, eq=False)
class Captured:
    """A value of the function around a parallel loop that its body uses."""

    source: SSAValue
    value: SSAValue
    slot: int


def lower_parallel(code: Code, op: loop.ForOp) -> None:
    """loop.for parallel  ->  @kernel.parN(begin, end, context), and a call of nn_parallel"""
    nest = perfect_nest(op)
    captured = captures(code, op)
    name = code.unit.fresh(f"{code.unit.function}.par")
    body = Code(code.unit, code.rules, [i64, i64, POINTER], False, op.location)
    fill_body(code, body, nest, captured)
    outlined = function(name, [i64, i64, POINTER], body.finish(), code.unit.wide)
    outlined.location = op.location
    code.unit.functions.append(outlined)
    context = store_context(code, captured)
    extent = 1
    for level in nest:
        extent *= level.trips
    code.unit.declare(RUNNER, [POINTER, POINTER, i64], None)
    target = address_of(code, name)
    call(code, RUNNER, [target, context, code.integer(extent)])
    for root in code.unit.written_in(op):
        if root in code.buffers:
            code.forget_loads(code.buffers[root].root)


def perfect_nest(op: loop.ForOp) -> list[loop.ForOp]:
    """Return the parallel loops that can run as one: each but the last holds only the next."""
    nest = [op]
    while True:
        inner = nest[-1].body.block.first_op
        if not isinstance(inner, loop.ForOp) or inner.how is not loop.ForKind.PARALLEL:
            return nest
        if inner.next_op is not None or not inner.trips:
            return nest
        nest.append(inner)


def captures(code: Code, op: loop.ForOp) -> list[Captured]:
    """Return what the body uses from outside and cannot make again."""
    captured: list[Captured] = []
    seen: set[SSAValue] = set()
    for inner in op.walk():
        for source in inner.operands:
            if source in seen or not is_outside(source, op):
                continue
            seen.add(source)
            if source in code.registers:
                problem = f"uses register buffer {code.registers[source].name!r} of all threads"
                hint = "put the buffer in stack, or inside the parallel loop"
                raise PassFailedException(complaint(inner, problem, hint=hint))
            value = value_of(code, source)
            if value is not None:
                captured.append(Captured(source, value, len(captured)))
    return captured


def is_outside(source: SSAValue, op: loop.ForOp) -> bool:
    """Return whether a value is defined outside a loop."""
    owner = source.owner
    block = owner.parent if isinstance(owner, Operation) else owner
    while block is not None:
        parent = block.parent_op()
        if parent is op:
            return False
        block = parent.parent if parent is not None else None
    return True


def value_of(code: Code, source: SSAValue) -> SSAValue | None:
    """Return what must be passed on; None for what the body can make itself."""
    if source in code.buffers:
        pointer = code.buffers[source].pointer
        return None if isinstance(pointer.owner, llvm.AddressOfOp) else pointer
    if source in code.indices:
        form = code.indices[source]
        return code.materialize(form) if form.terms else None
    value = code.scalars[source]
    return None if isinstance(value.owner, llvm.ConstantOp) else value


def store_context(code: Code, captured: list[Captured]) -> SSAValue:
    """Return the pointer to the captured values, written one after the other."""
    context = stack(code, max(1, len(captured)) * SLOT)
    for item in captured:
        place = offset_pointer(code, context, i64, item.slot * SLOT // 8)
        code.act(code.make(llvm.StoreOp, (item.value, place), (), aligned(item.value.type)))
    return context


def aligned(type_: Attribute) -> dict[str, Attribute]:
    """Return the properties of an access that is as aligned as its element needs."""
    element = element_type(type_)
    size = 8 if element == POINTER else numpy_dtype(element).itemsize
    return {"alignment": IntegerAttr(size, i64), "ordering": IntegerAttr(0, i64)}


def fill_body(code: Code, body: Code, nest: list[loop.ForOp], captured: list[Captured]) -> None:
    """Fill the function of a parallel loop: a loop over its share of the iterations."""
    begin, end, context = body.current.block.args
    begin.name_hint, end.name_hint, context.name_hint = "begin", "end", "context"
    restore(code, body, captured, context)
    before = body.current
    header = body.enter([i64])
    index = header.block.args[0]
    index.name_hint = nest[-1].index.name_hint
    bind_indices(body, nest, index)
    body.lower(nest[-1].body.block)
    body.location = nest[-1].location
    step = body.emit(llvm.AddOp, (index, body.integer(1)), i64, NO_WRAP)
    more = compare(body, "slt", step, end)
    latch = body.current
    body.leave()
    after = body.start(())
    body.branch(before, compare(body, "slt", begin, end), header.block, [begin], after.block, [])
    body.branch(latch, more, header.block, [step], after.block, [])
    body.act(body.make(llvm.ReturnOp, ()))


def restore(code: Code, body: Code, captured: list[Captured], context: SSAValue) -> None:
    """Make what the body uses from outside again: loaded from the context, or as constants."""
    for item in captured:
        place = offset_pointer(body, context, i64, item.slot * SLOT // 8)
        type_ = item.value.type
        value = body.emit(llvm.LoadOp, (place,), type_, aligned(type_))
        body.places[value] = (0, True)
        if item.source in code.buffers:
            root: Hashable = code.buffers[item.source].root
            body.buffers[item.source] = Buffer(value, root)
        else:
            body.bind(item.source, value)
    known = {item.source for item in captured}
    for source, form in code.indices.items():
        if source not in known and not form.terms:
            body.indices[source] = form
    for source, value in code.scalars.items():
        if isinstance(value.owner, llvm.ConstantOp):
            body.scalars[source] = body.constant(value.owner.value, value.type)
    for source, buffer in code.buffers.items():
        if isinstance(buffer.pointer.owner, llvm.AddressOfOp):
            name = buffer.pointer.owner.global_name.string_value()
            body.buffers[source] = Buffer(address_of(body, name), buffer.root)


def bind_indices(body: Code, nest: list[loop.ForOp], index: SSAValue) -> None:
    """Give each loop of a nest its variable, from the one that counts through all."""
    extent = 1
    for level in nest:
        extent *= level.trips
    atom = body.atom(index, (0, extent - 1), f"loop %{nest[-1].index.name_hint}")
    form = Form(((atom, 1),), 0)
    for level in nest:
        extent //= level.trips
        outer = quotient(body, form, extent)
        body.indices[level.index] = in_order(level, outer)
        form = remainder(body, form, extent)
