"""What is wrong with a kernel's threads, in words: both places, and what to do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from nn_opt.dialects import gpu, loop
from nn_opt.ir.diagnostics import Complaints, Diagnostic, diagnose, note_at
from nn_opt.reference.gpu_shadow import Conflict, Kind

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Naming:
    """How threads of a grid are called."""

    grid: Triple
    block: Triple

    def thread(self, number: int) -> str:
        """Return the words for a thread, by its number in the grid; for less than 0, several."""
        if number < 0:
            return "another thread"
        block, own = divmod(number, math.prod(self.block))
        text = f"thread {_place(own, self.block)}"
        if math.prod(self.grid) > 1:
            text += f" of block {_place(block, self.grid)}"
        return text


def _place(number: int, sizes: Triple) -> str:
    x, y, _ = sizes
    return f"({number % x}, {number // x % y}, {number // (x * y)})"


def error_of(*diagnostics: Diagnostic) -> InterpretationError:
    """Return the exception that ends a run."""
    return InterpretationError(Complaints(diagnostics))


def race(
    op: Operation, kind: Kind, thread: int, element: list[int], conflict: Conflict, naming: Naming
) -> InterpretationError:
    """Return the error about two accesses to one element that come in no order."""
    other, hint = _other(conflict, naming)
    own = naming.thread(thread)
    problem = f"data race: {own} {kind.value} element {element} of {name_of(op)}, which {other}"
    note = note_at(conflict.op, f"the other access, which {conflict.kind.value} it")
    return error_of(diagnose(op, problem, hint=hint, notes=(note,)))


def _other(conflict: Conflict, naming: Naming) -> tuple[str, str]:
    """Return what else happens to the element, and what to do about it."""
    who, verb = naming.thread(conflict.thread), conflict.kind.value
    if conflict.kind is Kind.COPY:
        hint = "wait for the copy by gpu.async_wait, then let all threads meet at a barrier"
        return "is being copied to", hint
    if conflict.between_blocks:
        if conflict.thread < 0:
            who = "a thread of another block"
        return f"{who} {verb}, too", "nothing orders blocks: use a kernel for each step, or atomics"
    hint = "put a gpu.barrier between the two accesses, as --insert-barriers does"
    return f"{who} {verb} with no barrier between", hint


def unwritten_element(op: Operation, thread: str, element: list[int]) -> InterpretationError:
    """Return the error about a read of what nobody has written."""
    problem = f"{thread} reads element {element} of {name_of(op)}, which no thread has written"
    hint = "shared memory has no contents at first: let the threads fill it"
    return error_of(diagnose(op, problem, hint=hint))


def divergence(op: Operation, came: int, threads: int, absent: str) -> InterpretationError:
    """Return the error about a barrier that some threads do not come to."""
    problem = f"barrier divergence: {came} of {threads} threads come here, {absent} does not"
    hint = "a barrier is for all threads of a block: move it out of what depends on the thread"
    return error_of(diagnose(op, problem, hint=hint, notes=divergence_notes(op)))


def name_of(op: Operation) -> str:
    """Return the name of the buffer that an op accesses: of the last, where it has several."""
    memref = [value for value in op.operands if isinstance(value.type, MemRefType)][-1]
    while isinstance(memref.owner, loop.ViewOp):
        memref = memref.owner.source
    if isinstance(memref.owner, loop.AllocOp):
        return f"'{memref.owner.buffer.data}'"
    return f"%{memref.name_hint}" if memref.name_hint else "a buffer"


def divergence_notes(op: Operation) -> tuple[Diagnostic, ...]:
    """Return what says why threads do not come to an op, and where they go instead."""
    guard = op.parent_op()
    while guard is not None and not isinstance(guard, loop.IfOp | loop.BlockOp):
        guard = guard.parent_op()
    if guard is None:
        return ()
    skipped = note_at(guard, "the condition here does not hold for all threads")
    following = _next_barrier(guard)
    if following is None:
        return (skipped, Diagnostic("note", "", "the others go on to the end of the kernel"))
    return (skipped, note_at(following, "the others go on to this barrier"))


def _next_barrier(op: Operation) -> Operation | None:
    """Return the next barrier after an op in the order of the text."""
    outer: Operation | None = op
    while outer is not None and not isinstance(outer, gpu.FuncOp):
        later = outer.next_op
        while later is not None:
            barriers = (inner for inner in later.walk() if isinstance(inner, gpu.BarrierOp))
            if (found := next(barriers, None)) is not None:
                return found
            later = later.next_op
        outer = outer.parent_op()
    return None
