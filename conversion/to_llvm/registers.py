"""Buffers in registers: each place of an access is an SSA value, carried by the loops around.

An access of fewer lanes, such as the end of a row, means the first ones of the widest one there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.code import Code, Registers
from nn_opt.conversion.to_llvm.indices import Form
from nn_opt.dialects import loop
from nn_opt.dialects.llvm import ExtractElementOp
from nn_opt.ir.affine import flatten
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, lanes_of, shape_of, vector_type

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
            if (lanes_of(known) or 0) < (lanes_of(access.accessed) or 0):
                types[place] = access.accessed
    _refuse_overlap(op, types)
    machine = {place: code.unit.type_of(types[place]) for place in sorted(types)}
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
    """Return what the register holds, or its first lanes."""
    registers, place = place_of(code, op, form)
    value, wanted = held(code, registers, place), code.unit.type_of(op.accessed)
    if value.type == wanted:
        return value
    lanes = lanes_of(wanted)
    if lanes is None:
        return code.emit(ExtractElementOp, (value, code.integer(0)), wanted)
    return _shuffle(code, value, value, range(lanes))


def write_register(code: Code, op: loop.StoreOp, form: Form, value: SSAValue) -> None:
    """Let the register, or its first lanes, hold the value."""
    registers, place = place_of(code, op, form)
    if value.type != registers.types[place]:
        value = _in_first_lanes(code, held(code, registers, place), value)
    registers.values[place] = value


def _in_first_lanes(code: Code, whole: SSAValue, part: SSAValue) -> SSAValue:
    """Return a vector whose first lanes are replaced."""
    count, lanes = lanes_of(part.type), lanes_of(whole.type) or 1
    if count is None:
        return code.emit(llvm.InsertElementOp, (whole, part, code.integer(0)), whole.type)
    wide = _shuffle(code, part, part, [*range(count), *[-1] * (lanes - count)])
    return _shuffle(code, wide, whole, [*range(count), *range(lanes + count, 2 * lanes)])


def _shuffle(code: Code, lhs: SSAValue, rhs: SSAValue, picks: Sequence[int]) -> SSAValue:
    type_ = vector_type(len(picks), element_type(lhs.type))
    mask = {"mask": DenseArrayBase.from_list(i32, list(picks))}
    return code.emit(llvm.ShuffleVectorOp, (lhs, rhs), type_, mask)


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
