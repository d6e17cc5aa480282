"""Buffers in registers: each place of an access is an SSA value, carried by the loops around."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product
from typing import NoReturn

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.code import Code, Registers, machine_type
from nn_opt.conversion.to_llvm.indices import Form
from nn_opt.dialects import loop
from nn_opt.ir.affine import flatten
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import lanes_of, shape_of

Place = tuple[Registers, int]


def allocate_registers(code: Code, op: loop.AllocOp) -> None:
    """loop.alloc in register  ->  nothing yet: values appear with the first stores"""
    types: dict[int, Attribute] = {}
    for use in op.result.uses:
        access = use.operation
        if not isinstance(access, loop.LoadOp | loop.StoreOp):
            hint = "put the buffer in stack"
            raise PassFailedException(complaint(access, f"takes {_name(op)}", hint=hint))
        for place in _places(access):
            known = types.setdefault(place, access.accessed)
            if known != access.accessed:
                _refuse_mixture(access, op, known, place)
    _refuse_overlap(op, types)
    machine = {place: machine_type(types[place]) for place in sorted(types)}
    code.registers[op.result] = Registers(op.buffer.data, machine)


def _places(access: loop.LoadOp | loop.StoreOp) -> list[int]:
    """Return where an access starts, in elements, in every iteration of the unrolled loops.

    None where a loop stays: the access itself is refused later, with that loop's name.
    """
    trips = [_unrolled_trips(index) for index in access.indices]
    if access.step != 1 and lanes_of(access.accessed):
        return []
    ranges = [(0, count - 1) for count in trips if count is not None]
    if len(ranges) != len(trips):
        return []
    offset = flatten(access.map.data.results, shape_of(access.memref), ranges)
    spaces = [range(count) for count in trips if count is not None]
    return [offset.eval(point, ()) for point in product(*spaces)]


def _unrolled_trips(index: SSAValue) -> int | None:
    nest = index.block.parent_op() if isinstance(index, BlockArgument) else None
    if isinstance(nest, loop.ForOp) and (nest.how is loop.ForKind.UNROLL or nest.trips == 1):
        return nest.trips
    return None


def _refuse_mixture(access: Operation, op: loop.AllocOp, known: Attribute, place: int) -> NoReturn:
    assert isinstance(access, loop.LoadOp | loop.StoreOp)
    kinds = " and ".join(sorted((str(known), str(access.accessed))))
    problem = f"accesses element {place} of {_name(op)} as {kinds}"
    hint = "vectorize all loops over it alike, or put the buffer in stack"
    raise PassFailedException(complaint(access, problem, hint=hint))


def _refuse_overlap(op: loop.AllocOp, types: Mapping[int, Attribute]) -> None:
    """Refuse accesses that share some lanes but not all."""
    for place, after in pairwise(sorted(types)):
        if place + (lanes_of(types[place]) or 1) > after:
            problem = f"{types[place]} at element {place} and {types[after]} at {after} overlap"
            hint = "vectorize all loops over it alike, or put the buffer in stack"
            raise PassFailedException(complaint(op, f"{_name(op)}: {problem}", hint=hint))


def _name(op: loop.AllocOp) -> str:
    return f"the register buffer {op.buffer.data!r}"


def place_of(code: Code, op: loop.LoadOp | loop.StoreOp, form: Form) -> Place:
    """Return which register an access means.

    Raises: PassFailedException if that is not known at compile time.
    """
    registers = code.registers[code.unit.access(op).buffer]
    if form.terms:
        loops = [atom.loop or "a computed index" for atom, _ in form.terms]
        problem = f"index into register buffer {registers.name!r} depends on {', '.join(loops)}"
        hint = "unroll that loop, or put the buffer in stack"
        raise PassFailedException(complaint(op, problem, hint=hint))
    if form.constant not in registers.types:
        problem = (
            f"accesses {op.accessed} at element {form.constant}, stride {op.step}, of register"
            f" buffer {registers.name!r}"
        )
        hint = "a vector in registers has its elements side by side"
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
        value = code.poison(registers.types[place])
    return value


def changed_in(code: Code, op: Operation) -> list[Place]:
    """Return the registers, made outside a loop or branch, that are written in it."""
    written = code.unit.written_in(op)
    return [
        (registers, place)
        for buffer, registers in code.registers.items()
        if buffer in written
        for place in registers.types
    ]
