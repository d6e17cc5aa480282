"""Any size of a batch by programs of a few sizes, each of which computes some of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from nn_opt.runtime.manifest import Manifest, TensorInfo
from nn_opt.runtime.program import Program
from nn_opt.runtime.recent import Recent
from nn_opt.runtime.specialization import Specialization

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Array = NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]
MOST_FIRST = 16  # sets of shapes whose batches are served
SMALL = (8, 1)  # sizes that are compiled besides the first one, for what is left
PAIRS = (8, 2)  # the same where one entry is computed another way than two: chunks may overlap


@dataclass(frozen=True)
class Batch:
    """A size that a caller may choose: its value now, and which inputs have it as first axis."""

    size: int
    inputs: tuple[bool, ...]

    def of(self, shapes: Shapes) -> int:
        """Return the size of the batch in shapes."""
        return next(s[0] for s, batched in zip(shapes, self.inputs, strict=True) if batched)

    def shapes(self, shapes: Shapes, size: int) -> Shapes:
        """Return shapes with another size of the batch."""
        pairs = zip(shapes, self.inputs, strict=True)
        return tuple((size, *shape[1:]) if batched else shape for shape, batched in pairs)


@dataclass(frozen=True)
class Alike:
    """The rows of each result that an entry has for two sizes; None if they are not alike."""

    rows: list[int] | None


def batch_of(infos: Sequence[TensorInfo], shapes: Shapes, known: Shapes) -> Batch | None:
    """Return the size in which two sets of shapes differ, if it is one named size of first axes."""
    names: set[str] = set()
    for info, new, old in zip(infos, shapes, known, strict=True):
        if info.shape is None or len(new) != len(old) or new[1:] != old[1:]:
            return None
        if new != old:
            names.add(str(info.shape[0]))
    if len(names) != 1:
        return None
    (name,) = names
    inputs = tuple((info.shape or ("",))[0] == name for info in infos)
    sizes = {shape[0] for shape, batched in zip(shapes, inputs, strict=True) if batched}
    if len(sizes) > 1 or any(name in (info.shape or ())[1:] for info in infos):
        return None
    return Batch(sizes.pop(), inputs)


class BatchedProgram:
    """What runs a model for one size of the batch by programs for others."""

    def __init__(
        self,
        declared: Manifest,
        shapes: Shapes,
        batch: Batch,
        rows: Sequence[int],
        chunks: Sequence[tuple[int, Program]],
        first: Program,
    ) -> None:
        self._first = first
        self._shapes = shapes
        self._batch = batch
        self._rows = rows
        self._chunks = chunks
        outputs = first.manifest.outputs
        self._outputs = [
            TensorInfo(info.name, (batch.size * each, *info.sizes[1:]), info.dtype)
            for info, each in zip(outputs, rows, strict=True)
        ]
        self._inputs = [info.name for info in declared.inputs]

    @property
    def manifest(self) -> Manifest:
        """What the first program says of itself, with the outputs of this batch."""
        return replace(self._first.manifest, outputs=tuple(self._outputs))

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        """Compute into `outputs`, as a program does."""
        start = 0
        for size, program in self._chunks:
            start = min(start, self._batch.size - size)
            end = start + size
            given = [
                array[start:end] if batched else array
                for array, batched in zip(inputs, self._batch.inputs, strict=True)
            ]
            made = [a[start * n : end * n] for a, n in zip(outputs, self._rows, strict=True)]
            program.run(given, made, threads)
            start = end

    def specializations(self) -> Iterable[Specialization]:
        """Yield what serves this size."""
        shapes = dict(zip(self._inputs, self._shapes, strict=True))
        sizes = tuple(size for size, _ in self._chunks)
        yield Specialization(shapes, {}, len(sizes), batches=tuple(dict.fromkeys(sizes)))


def chunks_of(size: int, first: int, small: Sequence[int] = SMALL) -> list[int]:
    """Return sizes of programs for all entries of a batch, the largest ones first.

    The last one may compute some entries again; there is none if all are larger than the batch.
    """
    chunks: list[int] = []
    sizes = sorted({first, *small}, reverse=True)
    for chunk in sizes:
        count, size = divmod(size, chunk)
        chunks += [chunk] * count
    return [*chunks, sizes[-1]] if size and chunks else chunks


class Batches:
    """The programs of a model that serve any size of a batch."""

    def __init__(
        self,
        declared: Manifest,
        module: Callable[[Shapes], ModuleOp],
        program: Callable[[Shapes], Program],
        reads_sizes: Callable[[], bool],
    ) -> None:
        self._declared = declared
        self._reads_sizes = reads_sizes
        self._module = module
        self._program = program
        self._first: Recent[Shapes, Program] = Recent(MOST_FIRST)
        self._chunks: Recent[Shapes, Program] = Recent(MOST_FIRST * (1 + len(SMALL)))
        self._rows: Recent[tuple[Shapes, int], Alike] = Recent()
        self._singles: set[Shapes] = set()  # batches of one that are unlike those of more

    def note(self, shapes: Shapes, program: Program) -> None:
        """Take a program that was compiled; further sizes of its batch may use it."""
        if any(0 in shape for shape in shapes):
            return
        if not any(self._batch(shapes, known) for known, _ in self._firsts()):
            self._first.keep(shapes, program)

    def serving(self, shapes: Shapes) -> BatchedProgram | None:
        """Return what runs for these shapes by programs for others; None if nothing can."""
        for known, program in self._firsts():
            if batch := self._batch(shapes, known):
                served = self._served(shapes, batch, known, program)
                if served is not None or batch.of(known) > 1:
                    return served
                self._singles.add(known)
        return None

    def _firsts(self) -> Iterable[tuple[Shapes, Program]]:
        return ((k, program) for k, program in self._first.items() if k not in self._singles)

    def _batch(self, shapes: Shapes, known: Shapes) -> Batch | None:
        return batch_of(self._declared.inputs, shapes, known)

    def _served(
        self, shapes: Shapes, batch: Batch, known: Shapes, first: Program
    ) -> BatchedProgram | None:
        size = batch.of(known)
        for small in (SMALL, PAIRS):
            chunks = chunks_of(batch.size, size, small)
            if batch.size and not chunks:
                return None
            # A model that never asks for a size is the same for all, so its programs' sizes do.
            needed = [batch.size, *chunks] if batch.size and self._asks else [*chunks, *small]
            rows = self._same_rows(batch, known, {*needed} - {size})
            if rows is not None:
                parts = [
                    (n, first if n == size else self._of(batch.shapes(known, n))) for n in chunks
                ]
                return BatchedProgram(self._declared, shapes, batch, rows, parts, first)
        return None

    def _same_rows(self, batch: Batch, known: Shapes, others: set[int]) -> list[int] | None:
        """Return the rows of each result that an entry has, if all sizes compute it alike."""
        rows: list[int] = []
        for other in sorted(others, reverse=True):
            found = self._rows_of(batch, known, other)
            if found is None or (rows and found != rows):
                return None
            rows = found
        return rows

    @cached_property
    def _asks(self) -> bool:
        return self._reads_sizes()

    def _of(self, shapes: Shapes) -> Program:
        return self._chunks.find(shapes) or self._chunks.keep(shapes, self._program(shapes))

    def _rows_of(self, batch: Batch, known: Shapes, other: int) -> list[int] | None:
        """Return the rows of each result that an entry has, if both sizes compute it alike."""
        from xdsl.utils.exceptions import PassFailedException, VerifyException

        from nn_opt.ir.diagnostics import DiagnosticError
        from nn_opt.staged.rows import rows_of

        if found := self._rows.find((known, other)):
            return found.rows
        try:
            modules = self._module(known), self._module(batch.shapes(known, other))
            rows = rows_of(modules, (batch.of(known), other), batch.inputs)
        except (DiagnosticError, VerifyException, PassFailedException):
            return None  # to compile for that size says why, if it is asked for
        return self._rows.keep((known, other), Alike(rows)).rows
