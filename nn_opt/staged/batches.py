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


@dataclass(frozen=True)
class Batch:
    """A size that a caller may choose: its value now, and which inputs have it as first axis."""

    size: int
    inputs: tuple[bool, ...]

    def shapes(self, shapes: Shapes, size: int) -> Shapes:
        """Return shapes with another size of the batch."""
        pairs = zip(shapes, self.inputs, strict=True)
        return tuple((size, *shape[1:]) if batched else shape for shape, batched in pairs)


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


def chunks_of(size: int, first: int) -> list[int]:
    """Return sizes of programs that add up to a size, the largest ones first."""
    chunks: list[int] = []
    for chunk in sorted({first, *SMALL}, reverse=True):
        count, size = divmod(size, chunk)
        chunks += [chunk] * count
    return chunks


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
        self._rows: Recent[tuple[Shapes, int], list[int]] = Recent()

    def note(self, shapes: Shapes, program: Program) -> None:
        """Take a program that was compiled; further sizes of its batch may use it."""
        if any(0 in shape for shape in shapes):
            return
        if not any(self._batch(shapes, known) for known, _ in self._first.items()):
            self._first.keep(shapes, program)

    def serving(self, shapes: Shapes) -> BatchedProgram | None:
        """Return what runs for these shapes by programs for others; None if nothing can."""
        for known, program in self._first.items():
            if batch := self._batch(shapes, known):
                return self._served(shapes, batch, known, program)
        return None

    def _batch(self, shapes: Shapes, known: Shapes) -> Batch | None:
        return batch_of(self._declared.inputs, shapes, known)

    def _served(
        self, shapes: Shapes, batch: Batch, known: Shapes, first: Program
    ) -> BatchedProgram | None:
        (size, *_) = (s[0] for s, batched in zip(known, batch.inputs, strict=True) if batched)
        chunks = chunks_of(batch.size, size)
        # A model that never asks for a size is the same for all, so that its programs' sizes do.
        needed = [batch.size, *chunks] if batch.size and self._asks else [*chunks, *SMALL]
        rows = [
            self._rows_of(batch, known, size, other)
            for other in dict.fromkeys(needed)
            if other != size
        ]
        if any(found is None or found != rows[0] for found in rows):
            return None
        parts = [(n, first if n == size else self._of(batch.shapes(known, n))) for n in chunks]
        return BatchedProgram(self._declared, shapes, batch, rows[0] or [], parts, first)

    @cached_property
    def _asks(self) -> bool:
        return self._reads_sizes()

    def _of(self, shapes: Shapes) -> Program:
        return self._chunks.find(shapes) or self._chunks.keep(shapes, self._program(shapes))

    def _rows_of(self, batch: Batch, known: Shapes, size: int, other: int) -> list[int] | None:
        """Return the rows of each result that an entry has, if both sizes compute it alike."""
        from xdsl.utils.exceptions import PassFailedException, VerifyException

        from nn_opt.ir.diagnostics import DiagnosticError
        from nn_opt.staged.rows import rows_of

        key = (known, other)
        found = self._rows.find(key)
        if found is None:
            try:
                modules = self._module(known), self._module(batch.shapes(known, other))
                found = rows_of(modules, (size, other), batch.inputs)
            except (DiagnosticError, VerifyException, PassFailedException):
                return None  # to compile for that size says why, if it is asked for
        return None if found is None else self._rows.keep(key, found)
