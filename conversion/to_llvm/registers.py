"""Buffers in registers: each place of an access is an SSA value, carried by the loops around."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.code import Code, Registers, machine_type
from nn_opt.conversion.to_llvm.indices import Form
from nn_opt.dialects import loop
from nn_opt.dialects.llvm import PoisonOp, lanes_of
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import shape_of

Place = tuple[Registers, int]


def allocate_registers(code: Code, op: loop.AllocOp) -> None:
    """loop.alloc in register  ->  nothing yet: values appear with the first stores"""
    accesses = [use.operation for use in op.result.uses]
    types: dict[Attribute, Operation] = {}
    for access in accesses:
        if not isinstance(access, loop.LoadOp | loop.StoreOp):
            hint = "put the buffer in stack"
            raise PassFailedException(complaint(access, f"takes {_name(op)}", hint=hint))
        types.setdefault(access.accessed, access)
    if len(types) > 1:
        kinds = " and ".join(sorted(str(type_) for type_ in types))
        problem = f"accesses {_name(op)} as {kinds}"
        hint = "vectorize all loops over it alike, or put the buffer in stack"
        raise PassFailedException(complaint(list(types.values())[1], problem, hint=hint))
    size = 1
    for extent in shape_of(op.result):
        size *= extent
    type_ = next(iter(types), None)
    if type_ is not None:
        lanes = lanes_of(type_) or 1
        places = range(0, size - lanes + 1, lanes)
        code.registers[op.result] = Registers(op.buffer.data, machine_type(type_), places)


def _name(op: loop.AllocOp) -> str:
    return f"the register buffer {op.buffer.data!r}"


def place_of(code: Code, op: loop.LoadOp | loop.StoreOp, form: Form) -> Place:
    """Return which register an access means.

    Raises: PassFailedException if that is not known at compile time.
    """
    registers = code.registers[op.memref]
    if form.terms:
        loops = [atom.loop or "a computed index" for atom, _ in form.terms]
        problem = f"index into register buffer {registers.name!r} depends on {', '.join(loops)}"
        hint = "unroll that loop, or put the buffer in stack"
        raise PassFailedException(complaint(op, problem, hint=hint))
    if form.constant not in registers.places or (op.step != 1 and lanes_of(op.accessed)):
        problem = (
            f"accesses {op.accessed} at element {form.constant}, stride {op.step}, of register"
            f" buffer {registers.name!r}"
        )
        hint = f"accesses must start at a multiple of {registers.places.step}"
        raise PassFailedException(complaint(op, problem, hint=hint))
    return registers, form.constant


def read_register(code: Code, op: loop.LoadOp, form: Form) -> SSAValue:
    """Return what the register holds."""
    registers, place = place_of(code, op, form)
    return held(code, registers, place)


def write_register(code: Code, op: loop.StoreOp, form: Form, value: SSAValue) -> None:
    """Let the register hold the value."""
    registers, place = place_of(code, op, form)
    registers.values[place] = value


def held(code: Code, registers: Registers, place: int) -> SSAValue:
    """Return what a register holds; poison before the first write."""
    value = registers.values.get(place)
    if value is None:
        value = code.share(PoisonOp, (), registers.type, key=registers.type)
    return value


def changed_in(code: Code, op: Operation) -> list[Place]:
    """Return the registers, made outside a loop or branch, that are written in it."""
    written = code.unit.written_in(op)
    return [
        (registers, place)
        for buffer, registers in code.registers.items()
        if buffer in written
        for place in registers.places
    ]
