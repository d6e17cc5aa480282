"""LLVM code in progress: blocks, scopes, and the outermost place where a value can be computed.

No optimization runs on what is made here, so whatever does not change in a loop must be
computed before it, and what is computed twice must be computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    LocationAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.indices import Atom, Form
from nn_opt.conversion.to_llvm.unit import Unit
from nn_opt.dialects.llvm import PoisonOp
from nn_opt.ir.affine import Range
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import Scalar, scalar_attr
from nn_opt.ir.resources import Array
from nn_opt.ir.types import element_type, is_vector, mlir_type, numpy_dtype, vector_type

Place: TypeAlias = tuple[int, bool]
"""(depth of a scope, whether only from its middle on); the maximum is where all are known."""

Rule: TypeAlias = Callable[["Code", Any], None]
PointerKey: TypeAlias = tuple[SSAValue, tuple[tuple[Atom, int], ...], Attribute]
LoadKey: TypeAlias = tuple[Hashable, SSAValue, int, Attribute, int]
"""Root, moving pointer, offset, type, step of a load."""
Properties: TypeAlias = Mapping[str, Attribute]
NO_PROPERTIES: Properties = {}
NO_WRAP: Properties = {"overflowFlags": IntegerAttr(3, i32)}  # nsw and nuw


def no_rule(op: Operation) -> PassFailedException:
    """Return the complaint about an op that cannot become code."""
    problem = "--convert-loop-to-llvm has no rule for this operation"
    hint = "run --lower-blocks and --vectorize-loops first"
    return PassFailedException(complaint(op, problem, hint=hint))


@lru_cache(maxsize=4096)
def _integer_properties(value: int, bits: int) -> Properties:
    return {"value": IntegerAttr(value, bits)}


def _dense(array: Array, type_: Attribute) -> Attribute:
    """Return `dense<...> : vector<...>`; one number stands for all."""
    make: Any = DenseIntOrFPElementsAttr  # its types know no variable element
    return make(type_, BytesAttr(array.tobytes()))


@dataclass(eq=False)
class Chunk:
    """A block in progress: what was moved to its head, and the rest."""

    block: Block
    head: list[Operation] = field(default_factory=list[Operation])
    rest: list[Operation] = field(default_factory=list[Operation])


@dataclass(eq=False)
class Scope:
    """The body of a function, loop or branch: values computed in it, and loads still valid."""

    head: Chunk
    values: dict[Hashable, SSAValue] = field(default_factory=dict[Hashable, SSAValue])
    pointers: dict[PointerKey, SSAValue] = field(default_factory=dict[PointerKey, SSAValue])
    loads: dict[LoadKey, SSAValue] = field(default_factory=dict[LoadKey, SSAValue])


@dataclass(frozen=True, eq=False)
class Buffer:
    """A buffer in memory; accesses of different roots never overlap."""

    pointer: SSAValue
    root: Hashable


@dataclass(eq=False)
class Registers:
    """A buffer in registers: one SSA value for each place of its accesses, once it is written."""

    name: str
    types: Mapping[int, Attribute]  # of each access, by the element where it starts
    values: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])


class Code:
    """The code of one function in progress, and what the values of the source are in it."""

    def __init__(
        self,
        unit: Unit,
        rules: Mapping[type[Operation], Rule],
        arguments: Sequence[Attribute],
        may_outline: bool,
        location: LocationAttr,
    ):
        self.unit = unit
        self.index = unit.index
        self.rules = rules
        self.may_outline = may_outline
        self.chunks: list[Chunk] = []
        self.scopes: list[Scope] = []
        self.places: dict[SSAValue, Place] = {}
        self.indices: dict[SSAValue, Form] = {}
        self.scalars: dict[SSAValue, SSAValue] = {}
        self.buffers: dict[SSAValue, Buffer] = {}
        self.registers: dict[SSAValue, Registers] = {}
        self.unbounded: set[SSAValue] = set()  # pointers that may lie before their buffer
        self.atoms: dict[SSAValue, Atom] = {}
        # Constants by where their attributes are, or by their text; with what has to stay there.
        self.constants: dict[tuple[int, int], tuple[SSAValue, object]] = {}
        self.numbers: dict[tuple[str, int], tuple[SSAValue, object]] = {}
        self.location = location  # of what is made
        self.current = self.enter(arguments)

    # Blocks and scopes.

    def start(self, arguments: Sequence[Attribute]) -> Chunk:
        """Begin a block; what follows goes into it."""
        chunk = Chunk(Block(arg_types=arguments))
        self.chunks.append(chunk)
        self.current = chunk
        return chunk

    def enter(self, arguments: Sequence[Attribute]) -> Chunk:
        """Begin a block that is the head of a new scope."""
        chunk = self.start(arguments)
        self.scopes.append(Scope(chunk))
        for value in chunk.block.args:
            self.places[value] = (self.depth, False)
        return chunk

    def leave(self) -> None:
        """End the innermost scope."""
        self.scopes.pop()

    @property
    def depth(self) -> int:
        """The number of scopes around the innermost one."""
        return len(self.scopes) - 1

    def finish(self) -> Region:
        """Return the body of the function."""
        for chunk in self.chunks:
            chunk.block.add_ops([*chunk.head, *chunk.rest])
        return Region([chunk.block for chunk in self.chunks])

    def lower(self, block: Block) -> None:
        """Convert the ops of a block, each by the rule of its type."""
        for op in block.ops:
            rule = self.rules.get(type(op))
            if rule is None:
                raise no_rule(op)
            self.location = op.location
            rule(self, op)

    def jump(self, chunk: Chunk, target: Block, values: Sequence[SSAValue]) -> None:
        """End a block with a jump."""
        op = llvm.BrOp.create(operands=values, successors=[target])
        op.location = self.location
        chunk.rest.append(op)

    def branch(
        self,
        chunk: Chunk,
        condition: SSAValue,
        then: Block,
        then_values: Sequence[SSAValue],
        otherwise: Block,
        otherwise_values: Sequence[SSAValue],
    ) -> None:
        """End a block with a conditional jump."""
        sizes = [1, len(then_values), len(otherwise_values)]
        op = llvm.CondBrOp.create(
            operands=[condition, *then_values, *otherwise_values],
            successors=[then, otherwise],
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, sizes)},
        )
        op.location = self.location
        chunk.rest.append(op)

    # Operations.

    def make(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute] = (),
        properties: Properties = NO_PROPERTIES,
    ) -> Operation:
        """Return a new op that is nowhere yet."""
        return kind.create(
            operands=operands,
            result_types=results,
            properties=properties,
            location=self.location,
        )

    def act(self, op: Operation) -> None:
        """Add an op at the current place."""
        self.current.rest.append(op)

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute,
        properties: Properties = NO_PROPERTIES,
    ) -> SSAValue:
        """Return the result of a new op at the current place."""
        op = self.make(kind, operands, (type_,), properties)
        self.current.rest.append(op)
        result = op.results[0]
        self.places[result] = (self.depth, True)
        return result

    def share(
        self,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        type_: Attribute,
        properties: Properties = NO_PROPERTIES,
        key: Hashable = None,
    ) -> SSAValue:
        """Return the result of a pure op, made once, as far out as its operands are known.

        key: what tells it from other ops of this type on the same operands.
        """
        depth, late = max([self.places[value] for value in operands], default=(0, False))
        if late and depth < self.depth:
            depth, late = depth + 1, False
        scope, full_key = self.scopes[depth], (kind, operands, key)
        known = scope.values.get(full_key)
        if known is not None:
            return known
        op = self.make(kind, operands, (type_,), properties)
        (self.current.rest if late else scope.head.head).append(op)
        result = op.results[0]
        self.places[result] = (depth, late)
        scope.values[full_key] = result
        return result

    def constant(self, attribute: Attribute, type_: Attribute) -> SSAValue:
        """Return a constant; it is written in place, so it costs nothing."""
        place = (id(attribute), id(type_))
        known = self.constants.get(place)
        if known is None:
            key = (attribute, type_)
            value = self.share(llvm.ConstantOp, (), type_, {"value": attribute}, key)
            known = self.constants[place] = (value, key)
        return known[0]

    def poison(self, type_: Attribute) -> SSAValue:
        """Return a value that nobody looks at."""
        known = self.constants.get((0, id(type_)))
        if known is None:
            value = self.share(PoisonOp, (), type_, key=type_)
            known = self.constants[0, id(type_)] = (value, type_)
        return known[0]

    def number(self, value: Scalar, type_: Attribute) -> SSAValue:
        """Return a number of a scalar type, or a vector of equal numbers."""
        key = (repr(value), id(type_))
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = (self._number(value, type_), type_)
        return known[0]

    def _number(self, value: Scalar, type_: Attribute) -> SSAValue:
        if not is_vector(type_):
            return self.constant(scalar_attr(value, type_), type_)
        one = np.array([value], numpy_dtype(element_type(type_)))
        return self.constant(_dense(one, type_), type_)

    def lanes(self, array: Array) -> SSAValue:
        """Return a vector of these numbers."""
        type_ = vector_type(len(array), mlir_type(array.dtype))
        return self.constant(_dense(array, type_), type_)

    def integer(self, value: int) -> SSAValue:
        """Return a constant as wide as an index."""
        properties = _integer_properties(value, self.unit.target.pointer_bits)
        return self.share(llvm.ConstantOp, (), self.index, properties, ("index", value))

    # Values of the source.

    def value(self, source: SSAValue) -> SSAValue:
        """Return the value in registers that stands for a scalar, vector or index."""
        known = self.scalars.get(source)
        return self.materialize(self.indices[source]) if known is None else known

    def bind(self, source: SSAValue, value: SSAValue) -> None:
        """Let `value` stand for a scalar, vector or index of the source."""
        if type(source.type) is IndexType:
            self.indices[source] = Form(((self.atom(value), 1),), 0)
        else:
            self.scalars[source] = value

    def atom(self, value: SSAValue, range_: Range | None = None, loop: str = "") -> Atom:
        """Return an index as a term of index forms; without a range it may be anything."""
        known = self.atoms.get(value)
        if known is None:
            bounds = range_ or (-(1 << 62), 1 << 62)
            known = Atom(value, self.places[value], bounds, len(self.atoms), loop)
            self.atoms[value] = known
        return known

    def materialize(self, form: Form) -> SSAValue:
        """Return an index form as a value, each part computed as far out as possible."""
        total: SSAValue | None = None
        for atom, factor in form.terms:
            term = atom.value
            if factor != 1:
                term = self.share(llvm.MulOp, (term, self.integer(factor)), self.index)
            total = term if total is None else self.share(llvm.AddOp, (total, term), self.index)
        if total is None:
            return self.integer(form.constant)
        if not form.constant:
            return total
        return self.share(llvm.AddOp, (total, self.integer(form.constant)), self.index)

    def forget_loads(self, root: Hashable) -> None:
        """Something was written: loads of that root may no longer be reused."""
        for scope in self.scopes:
            for key in [key for key in scope.loads if key[0] == root]:
                del scope.loads[key]
