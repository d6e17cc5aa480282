"""One kernel of the gpu level as structured text."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.source.gpu_language import Buffer, GpuLanguage, Space
from nn_opt.backends.source.indices import Indices, index_range
from nn_opt.backends.source.printer import (
    LONGEST,
    MEMORY,
    NOTHING,
    FunctionPrinter,
    Statement,
    is_tight,
)
from nn_opt.dialects import loop
from nn_opt.ir.affine import Range, linear
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, is_vector, lanes_of, memory_space, shape_of, vector_type

MOST_ELEMENTS = (1 << 31) - 1  # of a buffer: an index has 32 bits


@dataclass
class WaitingLanes:
    """Lanes that are text: what it reads, and how many of its readers are still to come."""

    reads: frozenset[str]
    readers: int


@dataclass
class KernelPrinter(FunctionPrinter):
    """The text of one kernel so far.

    A vector is a word where the language has such values, else it is a word for each lane.
    """

    gpu: GpuLanguage = field(kw_only=True)
    block_size: tuple[int, int, int] = field(kw_only=True)
    grid_size: tuple[int, int, int] = field(kw_only=True)
    buffers: dict[SSAValue, Buffer] = field(default_factory=dict[SSAValue, Buffer])
    lanes: dict[SSAValue, list[str]] = field(default_factory=dict[SSAValue, list[str]])
    waiting: dict[SSAValue, WaitingLanes] = field(default_factory=dict[SSAValue, WaitingLanes])
    of_vectors: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])  # variables
    ranges: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    on_vectors: Statement = field(kw_only=True)  # prints an op whose values are vectors
    grouped: Callable[[GpuLanguage, SSAValue, int], int] = field(kw_only=True)
    exchanges_global: bool = field(kw_only=True)  # threads read what others wrote to global memory
    subgroup: int = field(kw_only=True)  # threads that run in step; 0: not known
    vectors: dict[str, int] = field(default_factory=dict[str, int])  # lanes of what has a name
    shared: list[str] = field(default_factory=list[str])  # declarations, for the kernel's top
    declared: dict[str, int] = field(default_factory=dict[str, int])  # lines of unset variables

    def indices(self, values: Sequence[SSAValue]) -> Indices:
        base = super().indices(values)
        return replace(base, ranges=[self.range(value) for value in values])

    def range(self, value: SSAValue) -> Range:
        """Return the smallest and largest value of an index."""
        return self.ranges.get(value) or index_range(value)

    def check_type(self, op: Operation, type_: Attribute) -> None:
        super().check_type(op, element_type(type_))

    def refuse(self, op: Operation, problem: str, hint: str = "") -> PassFailedException:
        """Return the error that the language has no words for something."""
        text = f"the {self.gpu.name} backend {problem}"
        return PassFailedException(complaint(op, text, hint=hint or self.gpu.hint(op)))

    # Buffers

    def declare(self, op: Operation, value: SSAValue, buffer: Buffer) -> None:
        """Let a value be a buffer."""
        self.check_type(op, buffer.element)
        if buffer.elements > MOST_ELEMENTS:
            raise self.refuse(op, f"has no index for {buffer.elements} elements of one buffer")
        self.buffers[value] = buffer
        self.words[value] = buffer.name

    def new_buffer(self, op: loop.AllocOp, space: Space) -> Buffer:
        """Return a buffer of a kernel's own, under a name of its own."""
        name = self.names.fresh(op.result.name_hint, op.buffer.data)
        element, elements = element_type(op.result), self.elements(op.result)
        aligned = max((lanes_of(a.accessed) or 1 for a in _accesses(op)), default=1)
        aligned = self.gpu.lanes_at_once(element, aligned)
        atomic = any(use.operation.name == "gpu.atomic" for use in op.result.uses)
        lanes = self.grouped(self.gpu, op.result, aligned)
        return Buffer(name, element, elements, space, aligned=aligned, atomic=atomic, lanes=lanes)

    def alloc(self, op: loop.AllocOp) -> None:
        """Make a buffer: shared by the block, in variables, or a thread's own array."""
        space = memory_space(op.result)
        if space == "global":
            problem = "allocates global memory inside a kernel"
            raise PassFailedException(complaint(op, problem, hint="run --convert-loop-to-gpu"))
        if space == "shared":
            buffer = self.new_buffer(op, Space.SHARED)
            self.declare(op, op.result, buffer)
            self.shared.append(self.gpu.array(buffer))
        elif not self.make_variables(op):
            buffer = self.new_buffer(op, Space.PRIVATE)
            self.declare(op, op.result, buffer)
            self.say(self.gpu.array(buffer))

    def make_variables(self, op: loop.AllocOp) -> bool:
        uses = [use.operation for use in op.result.uses]
        accesses = _accesses(op)
        if self.elements(op.result) > self.gpu.most_variables or len(accesses) < len(uses):
            return False
        if not all(map(is_fixed, accesses)):
            return False
        type_ = element_type(op.result)
        self.check_type(op, type_)
        stem = self.names.fresh_stem(op.result.name_hint, op.buffer.data)
        self.variables[op.result] = stem
        places = {place for access in accesses for place in fixed_places(access)}
        lanes = self.lanes_of_variables(accesses)
        if lanes > 1:
            self.of_vectors[op.result] = lanes
            type_ = vector_type(lanes, type_)
        names = [f"{stem}{number}" for number in sorted({place // lanes for place in places})]
        self.say(self.language.define_variables(names, type_))
        if len(names) == 1:
            self.declared[names[0]] = len(self.lines) - 1
        return True

    def lanes_of_variables(self, accesses: Sequence[loop.LoadOp | loop.StoreOp]) -> int:
        """Return how many elements a variable has, if all accesses are of such whole vectors."""
        lanes = {lanes_of(access.accessed) or 1 for access in accesses}
        (count, *more) = lanes or {1}
        if more or count == 1 or any(access.step != 1 for access in accesses):
            return 1
        whole = all(fixed_places(access)[0] % count == 0 for access in accesses)
        can = self.gpu.computes_vectors(element_type(accesses[0].memref), count)
        return count if whole and can else 1

    def place(self, buffer: Buffer, offset: str) -> str:
        """Return where an element is in what the buffer's name stands for."""
        if buffer.at != "0":
            offset = buffer.at if offset == "0" else f"{buffer.at} + {offset}"
        if self.gpu.is_plain(buffer) or is_tight(offset):
            return offset
        return self.named_index(offset)

    def named_index(self, text: str) -> str:
        """Name an index that the text will repeat."""
        return self.copied_index("at", text)

    def copied_index(self, wish: str, text: str) -> str:
        """Name an index."""
        name = self.names.fresh(wish, wish)
        self.say(self.language.define(name, IndexType(), text))
        return name

    def element(self, buffer: SSAValue, offset: str) -> str:
        if buffer in self.variables:
            return f"{self.variables[buffer]}{offset}"
        found = self.buffers[buffer]
        return self.gpu.read(found, self.place(found, offset))

    def assign(self, buffer: SSAValue, offset: str, value: str) -> None:
        """Print what writes an element."""
        if buffer in self.variables:
            self.set_variable(f"{self.variables[buffer]}{offset}", value)
            return
        found = self.buffers[buffer]
        self.say(self.gpu.write(found, self.place(found, offset), value))

    def set_variable(self, name: str, value: str) -> None:
        """Print what assigns to a variable: in its declaration, if there is nothing in between."""
        place = self.declared.pop(name, None)
        since = range(len(self.lines) if place is None else place + 1, len(self.lines))
        if place is None or any(line not in self.declared.values() for line in since):
            self.say(f"{name} = {value};")
        else:
            self.lines[place] = f"{self.lines[place].removesuffix(';')} = {value};"

    # Vectors

    def stable(self, value: SSAValue) -> str:
        """Return text for a scalar that may be repeated."""
        if value in self._pending:
            self.settle(value)
        return self.words[value]

    def native(self, value: SSAValue, *, tight: bool = True) -> str:
        """Return a vector as one expression."""
        if value in self.lanes:
            lanes = self.lane_texts(value, len(self.lanes[value]))
            return self.vector(element_type(value), lanes)
        return self.take_tight(value) if tight else self.take(value)

    def vector(self, element: Attribute, lanes: Sequence[str]) -> str:
        """Return a vector of these lanes; of all lanes of one vector, that."""
        name = lanes[0].partition(".")[0]
        if self.vectors.get(name) == len(lanes):
            if list(lanes) == [self.gpu.lane(name, k) for k in range(len(lanes))]:
                return name
        return self.gpu.vector(element, lanes)

    def lane_texts(self, value: SSAValue, count: int) -> list[str]:
        """Return what stands for each lane; a scalar is the same on all."""
        if value in self.waiting:
            self.name_lanes(value)
        if value in self.lanes:
            return self.lanes[value]
        word = self.stable(value)
        if not is_vector(value.type):
            return [word] * count
        return [self.gpu.lane(word, k) for k in range(count)]

    def bind_lanes(self, value: SSAValue, texts: Sequence[str]) -> None:
        """Let a vector be these lanes; what is more than a word gets a name."""
        if not value.uses:
            return
        self.lanes[value] = [self._named_lane(value, text) for text in texts]

    def take_lanes(self, value: SSAValue, count: int) -> tuple[list[str], frozenset[str]]:
        """Return what stands for each lane, and the variables that it reads; text is used up."""
        if value not in self.waiting:
            return self.lane_texts(value, count), NOTHING
        waiting = self.waiting[value]
        waiting.readers -= 1
        if not waiting.readers:
            del self.waiting[value]
        return self.lanes[value], waiting.reads

    def keep_lanes(self, value: SSAValue, texts: Sequence[str], reads: frozenset[str]) -> None:
        """Let a vector's one reader have its lanes as text, which reads variables."""
        uses = [use.operation for use in value.uses]
        alone = len(uses) == 1 and uses[0].parent is value.owner.parent
        if alone and max(map(len, texts)) <= LONGEST:
            self.wait(value, texts, reads)
        else:
            self.bind_lanes(value, texts)

    def wait(self, value: SSAValue, texts: Sequence[str], reads: frozenset[str]) -> None:
        """Let a vector's lanes be text that reads variables, until those change."""
        readers = len(list(value.uses))
        if readers:
            self.lanes[value] = list(texts)
            self.waiting[value] = WaitingLanes(reads, readers)

    def name_lanes(self, value: SSAValue) -> None:
        """Name lanes that were text: what they read is about to change."""
        del self.waiting[value]
        self.lanes[value] = [self.copied(value, text) for text in self.lanes[value]]

    def before_a_write(self, places: frozenset[str] = MEMORY) -> None:
        super().before_a_write(places)
        for value in [value for value, lanes in self.waiting.items() if lanes.reads & places]:
            self.name_lanes(value)

    def before_a_region(self) -> None:
        super().before_a_region()
        for value in list(self.waiting):
            self.name_lanes(value)

    def copied(self, value: SSAValue, text: str) -> str:
        """Name what an expression is now."""
        name = self.names.fresh(value.name_hint, "v")
        self.say(self.language.define(name, element_type(value), text))
        return name

    def value(self, op: Operation) -> None:
        if len(op.results) == 1 and any(is_vector(v.type) for v in (*op.operands, *op.results)):
            self.on_vectors(self, op)
        else:
            super().value(op)

    @contextmanager
    def deeper(self) -> Generator[None]:
        """Print what follows one level further in."""
        self._depth += 1
        yield
        self._depth -= 1

    def _named_lane(self, value: SSAValue, text: str) -> str:
        if is_tight(text) and "(" not in text and "[" not in text:
            return text
        return self.copied(value, text)


def _accesses(op: loop.AllocOp) -> list[loop.LoadOp | loop.StoreOp]:
    uses = (use.operation for use in op.result.uses)
    return [use for use in uses if isinstance(use, loop.LoadOp | loop.StoreOp)]


def is_fixed(op: loop.LoadOp | loop.StoreOp) -> bool:
    """Return whether an access is at a place without variables."""
    return all(isinstance(expr, AffineConstantExpr) for expr in op.map.data.results)


def fixed_places(op: loop.LoadOp | loop.StoreOp) -> list[int]:
    """Return the places of the lanes of an access of which `is_fixed` holds."""
    form = linear(flat(op))
    return [form.constant + k * op.step for k in range(lanes_of(op.accessed) or 1)]


def flat(op: loop.LoadOp | loop.StoreOp) -> AffineExpr:
    """Return the place of an access in row-major order."""
    return flat_place(shape_of(op.memref), op.map.data.results)


def flat_place(shape: Sequence[int], results: Sequence[AffineExpr]) -> AffineExpr:
    """Return the place of an element in row-major order."""
    total = AffineExpr.constant(0)
    for axis, expr in enumerate(results):
        total = total + expr * prod(shape[axis + 1 :])
    return total
