"""Statements of kernels about memory that others change, too, or that fills beside the program."""

from __future__ import annotations

from xdsl.ir import Operation

from nn_opt.backends.source.kernel_printer import KernelPrinter, flat_place
from nn_opt.backends.source.printer import Statement
from nn_opt.dialects import gpu
from nn_opt.ir.types import element_type, shape_of


def atomic(p: KernelPrinter, op: gpu.AtomicOp) -> None:
    """%old = gpu.atomic addf %v, %m[%i]  ->  a function that returns what was there"""
    p.before_a_region()
    element = element_type(op.memref)
    p.check_type(op, element)
    buffer = p.buffers[op.memref]
    place = flat_place(shape_of(op.memref), op.map.data.results)
    offset = p.place(buffer, p.indices(op.indices).text(place))
    text = p.gpu.atomic(op.kind.data, buffer, offset, p.take(op.value))
    if text is None:
        raise p.refuse(op, f"has no atomic {op.kind.data.value} of {element}")
    if op.result.uses:
        p.say(p.language.define(p.name(op.result), element, text))
    else:
        p.say(f"{text};")


def copy(p: KernelPrinter, op: gpu.AsyncCopyOp) -> None:
    """gpu.async_copy 4 %x[%i] to %s[%t]  ->  a copy that the machine makes beside, or one now"""
    p.before_a_region()
    element, count = element_type(op.source), op.elements
    p.check_type(op, element)
    source, target = p.buffers[op.source], p.buffers[op.target]
    places = [
        p.indices(values).text(flat_place(shape_of(memref), map.data.results))
        for memref, map, values in (
            (op.source, op.source_map, op.source_indices),
            (op.target, op.target_map, op.target_indices),
        )
    ]
    line = p.gpu.copy_async(source, places[0], target, places[1], count)
    if line is not None:
        p.say(line)
        return
    for k in range(count):
        at = [f"{place} + {k}" if k else place for place in places]
        p.assign(op.target, at[1], p.element(op.source, at[0]))


def commit(p: KernelPrinter, op: gpu.AsyncCommitOp) -> None:
    p.before_a_region()
    if line := p.gpu.commit_async():
        p.say(line)


def wait(p: KernelPrinter, op: gpu.AsyncWaitOp) -> None:
    p.before_a_region()
    if line := p.gpu.wait_async(op.pending.value.data):
        p.say(line)


STATEMENTS: dict[type[Operation], Statement] = {
    gpu.AtomicOp: atomic,
    gpu.AsyncCopyOp: copy,
    gpu.AsyncCommitOp: commit,
    gpu.AsyncWaitOp: wait,
}
