"""What the functions of one module share while they are converted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from nn_opt.conversion.to_llvm.machine import index_as
from nn_opt.dialects import loop
from nn_opt.ir.affine import Linear, linear
from nn_opt.ir.target import DEFAULT, Target
from nn_opt.ir.types import shape_of

Writes = dict[Operation, set[SSAValue]]


@dataclass(frozen=True)
class Access:
    """A load or store, looked at once: its place as linear forms over its indices."""

    buffer: SSAValue
    indices: tuple[SSAValue, ...]
    step: int
    flat: Linear  # in elements, row-major
    by_dimension: tuple[Linear, ...]
    strides: tuple[int, ...]


@dataclass
class Unit:
    """The module in progress: functions and globals made so far, facts looked up once."""

    functions: list[Operation] = field(default_factory=list[Operation])
    globals: list[Operation] = field(default_factory=list[Operation])
    declared: dict[str, llvm.LLVMFunctionType] = field(
        default_factory=dict[str, llvm.LLVMFunctionType]
    )
    accesses: dict[Operation, Access] = field(default_factory=dict[Operation, Access])
    writes: Writes = field(default_factory=Writes)
    target: Target = DEFAULT
    function: str = ""  # the one in progress
    wide: bool = False  # it has 512-bit vectors
    names: Counter[str] = field(default_factory=Counter[str])

    @cached_property
    def index(self) -> IntegerType:
        """The type of an index: as wide as a pointer."""
        return i64 if self.target.pointer_bits == 64 else i32

    def type_of(self, type_: Attribute) -> Attribute:
        """Return the type of a value in registers."""
        return index_as(type_, self.index)

    def fresh(self, name: str) -> str:
        """Return the name with a number that makes it new."""
        self.names[name] += 1
        return f"{name}{self.names[name] - 1}"

    def declare(self, name: str, arguments: Sequence[Attribute], result: Attribute | None) -> None:
        """Note that a function outside the module is called."""
        self.declared[name] = llvm.LLVMFunctionType(list(arguments), result)

    def access(self, op: loop.LoadOp | loop.StoreOp) -> Access:
        """Return the linear forms of an access; computed once, however often it is expanded."""
        known = self.accesses.get(op)
        if known is None:
            known = self.accesses[op] = _access(op)
        return known

    def note_writes(self, function: Operation) -> None:
        """Find which buffers each loop and branch of a function writes."""
        for op in function.walk():
            for target in written(op):
                _note(self.writes, op, root_of(target))

    def written_in(self, op: Operation) -> set[SSAValue]:
        """Return the buffers that are written inside a loop or branch."""
        return self.writes.get(op, set())


def _access(op: loop.LoadOp | loop.StoreOp) -> Access:
    strides = row_strides(shape_of(op.memref))
    forms = tuple(linear(expr) for expr in op.map.data.results)
    constant = sum(form.constant * stride for form, stride in zip(forms, strides, strict=True))
    terms = {atom: 0 for form in forms for atom in form.terms}
    for form, stride in zip(forms, strides, strict=True):
        for atom, factor in form.terms.items():
            terms[atom] += factor * stride
    indices = tuple(op.indices)
    return Access(op.memref, indices, op.step, Linear(terms, constant), forms, strides)


def row_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the distance of neighbours along each dimension, in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def written(op: Operation) -> Sequence[SSAValue]:
    """Return the buffers that an op itself may write."""
    match op:
        case loop.StoreOp():
            return [op.memref]
        case _ if op.name == "gpu.atomic":  # without the dialect, which CPUs do not need
            return [op.operands[1]]
        case loop.CopyOp():
            return [op.target]
        case func.CallOp():
            return list(op.arguments)
        case _:
            return []


def root_of(buffer: SSAValue) -> SSAValue:
    """Return the buffer that a view is part of."""
    while isinstance(buffer.owner, loop.ViewOp):
        buffer = buffer.owner.source
    return buffer


def _note(writes: Writes, op: Operation, root: SSAValue) -> None:
    outer = op.parent_op()
    while outer is not None and not isinstance(outer, func.FuncOp):
        writes.setdefault(outer, set()).add(root)
        outer = outer.parent_op()
