"""What a language for GPUs has to say besides expressions: where threads are, wait and share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source.language import Language, Rule, width
from nn_opt.backends.source.printer import Statement
from nn_opt.dialects.gpu import AtomicKind


class Space(StrEnum):
    """Where a buffer is, as a kernel sees it."""

    GLOBAL = "global"
    SHARED = "shared"  # by the threads of a block
    PRIVATE = "private"  # to a thread
    TABLE = "table"  # a constant of the text


@dataclass(frozen=True)
class Buffer:
    """A buffer under its name in the text."""

    name: str
    element: Attribute
    elements: int
    space: Space
    constant: bool = False  # nothing writes it
    read_only: bool = False  # nor anything else in its memory
    alone: bool = False  # no other argument of the kernel is in the same memory
    atomic: bool = False  # several threads change an element
    aligned: int = 1  # elements: its first one is at a multiple of their size
    lanes: int = 1  # elements that are one value of the array, a vector
    at: str = "0"  # where it begins, in elements of what has the name


@dataclass(frozen=True)
class KernelHead:
    """What is known of a kernel before its body."""

    name: str
    nodes: str
    arguments: Sequence[Buffer]
    block: tuple[int, int, int]
    text: str  # of the body: what it names tells what must be declared


class GpuLanguage(Language):
    """The words of one language for kernels; an index is an `int` of 32 bits there."""

    comment: ClassVar[str] = "/* {} */"
    first = "run --lower-to-gpu first"
    widest: ClassVar[int] = 16  # bytes that are read or written at once
    vector_rules: ClassVar[dict[type[Operation], Rule]] = {}  # of vectors that the language has
    vector_sizes: ClassVar[tuple[int, ...]] = (4, 2)  # lanes that are read at once
    groups: ClassVar[tuple[int, ...]] = ()  # lanes that elements of an array may have
    element_lanes: ClassVar[str] = "xyzw"
    shared_in_kernel: ClassVar[bool] = True  # whether shared buffers are declared inside kernels
    has_pointers: ClassVar[bool] = True  # whether a view may change the type of elements
    statements: ClassVar[Mapping[type[Operation], Statement]] = {}  # of ops that it alone has
    most_variables: ClassVar[int] = 256  # in the place of one buffer

    def hint(self, op: Operation) -> str:
        return self.first

    def hint_for_type(self, op: Operation, type_: Attribute) -> str:
        if isinstance(type_, Float64Type):
            return (
                f"{self.name} has no floats of 64 bits: cast the model to float32,"
                " or compile it for opencl or cuda"
            )
        return super().hint_for_type(op, type_)

    def kind(self, type_: Attribute) -> str:
        return "i32" if isinstance(type_, IndexType) else str(type_)

    @abstractmethod
    def head(self, title: str, text: str) -> str:
        """Return what the file begins with, given all that follows."""

    @abstractmethod
    def kernel(self, head: KernelHead) -> tuple[str, list[str]]:
        """Return what comes before a kernel's brace, and the first lines after it."""

    @abstractmethod
    def place(self, what: str, axis: int) -> str:
        """Return which `thread` or `block` this is in a dimension, as an index."""

    @abstractmethod
    def barrier(self, *, with_global: bool) -> str:
        """Return the statement at which the threads of a block wait for each other."""

    # Of lanes: a subgroup's threads; all take part.

    def can_shuffle(self, type_: Attribute) -> bool:
        """Return whether values of a type can be passed from lane to lane."""
        wide = width(type_) >= 32
        return wide and isinstance(type_, Float32Type | IntegerType | IndexType)

    @abstractmethod
    def lane_id(self, block: tuple[int, int, int]) -> str:
        """Return which lane of its subgroup a thread is."""

    @abstractmethod
    def shuffle(self, value: str, lane: str, type_: Attribute) -> str:
        """Return the value of another lane."""

    @abstractmethod
    def shuffle_xor(self, value: str, mask: str, type_: Attribute) -> str:
        """Return the value of the lane whose number differs in the bits of a mask."""

    @abstractmethod
    def ballot(self, condition: str) -> str:
        """Return an i32 with a bit for each lane."""

    def thread_number(self, block: tuple[int, int, int]) -> str:
        """Return which thread of its block this is, counted through all dimensions."""
        x, y, z = (self.place("thread", axis) for axis in range(3))
        terms = [x] if block[0] > 1 else []
        terms += [f"{block[0]} * {y}"] if block[1] > 1 else []
        terms += [f"{block[0] * block[1]} * {z}"] if block[2] > 1 else []
        return " + ".join(terms) or "0"

    def atomic(self, kind: AtomicKind, buffer: Buffer, offset: str, value: str) -> str | None:
        """Return what changes an element in one step, as its old value; None if nothing does."""
        return None

    def copy_async(
        self, source: Buffer, at: str, target: Buffer, to: str, elements: int
    ) -> str | None:
        """Return the statement that begins a copy; None: elements are copied one by one, now."""
        return None

    def commit_async(self) -> str:
        """Return the statement that makes a group of the copies so far, if there is one."""
        return ""

    def wait_async(self, pending: int) -> str:
        """Return the statement that waits until at most so many groups are not done."""
        return ""

    @abstractmethod
    def array(self, buffer: Buffer) -> str:
        """Return the statement that makes a buffer of shared or private memory."""

    @abstractmethod
    def table(self, buffer: Buffer, values: Sequence[str]) -> str:
        """Return the declaration of a constant of the text."""

    @abstractmethod
    def part(self, name: str, element: Attribute, source: Buffer, at: str) -> tuple[str, Buffer]:
        """Return the statement (or nothing) that names a part of a buffer, and the part."""

    @abstractmethod
    def to_index(self, text: str, type_: Attribute) -> str:
        """Return an integer as an index."""

    def read(self, buffer: Buffer, offset: str) -> str:
        """Return an element as an expression."""
        return f"{buffer.name}[{offset}]"

    def write(self, buffer: Buffer, offset: str, value: str) -> str:
        """Return the statement that assigns an element."""
        return f"{buffer.name}[{offset}] = {value};"

    def is_plain(self, buffer: Buffer) -> bool:
        """Return whether an element's place appears once in what reads or writes it."""
        return True

    def lanes_at_once(self, element: Attribute, lanes: int) -> int:
        """Return how many of a vector's lanes are read or written at once."""
        most = self.widest * 8 // max(width(element), 8)
        fitting = (n for n in self.vector_sizes if n <= most and lanes % n == 0)
        return next(fitting, 1)

    @abstractmethod
    def vector_word(self, element: Attribute, lanes: int) -> str | None:
        """Return the type of values of so many lanes, or None if there is none."""

    @abstractmethod
    def moves(self, buffer: Buffer, lanes: int, *, aligned: bool) -> bool:
        """Return whether neighbouring elements can be read and written at once.

        aligned: their place is surely a multiple of so many elements.
        """

    @abstractmethod
    def read_vector(self, buffer: Buffer, offset: str, lanes: int, *, aligned: bool) -> str:
        """Return neighbouring elements as a vector, if `moves` says so."""

    @abstractmethod
    def write_vector(
        self, buffer: Buffer, offset: str, lanes: int, value: str, *, aligned: bool
    ) -> str:
        """Return the statement that writes a vector, if `moves` says so."""

    @abstractmethod
    def vector(self, element: Attribute, lanes: Sequence[str]) -> str:
        """Return a vector of these lanes."""

    def lane(self, vector: str, number: int) -> str:
        """Return a lane of a vector."""
        return f"{vector}.{self.element_lanes[number]}"

    def computes_vectors(self, type_: Attribute, lanes: int) -> bool:
        """Return whether vectors of this type are values on which operators work."""
        return bool(self.vector_rules) and self.vector_word(type_, lanes) is not None
