"""What each op of the gpu level is as a statement of a kernel."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from nn_opt.backends.source import kernel_vectors as vectors
from nn_opt.backends.source.gpu_language import Buffer, Space
from nn_opt.backends.source.kernel_printer import KernelPrinter
from nn_opt.backends.source.printer import STATEMENTS as COMMON
from nn_opt.backends.source.printer import Statement
from nn_opt.dialects import gpu, loop
from nn_opt.ir.affine import linear, range_of
from nn_opt.ir.types import element_type, is_vector, shape_of


def _constant(p: KernelPrinter, op: arith.ConstantOp) -> None:
    if is_vector(op.result.type):
        vectors.constant(p, op)
    else:
        COMMON[arith.ConstantOp](p, op)


def _apply(p: KernelPrinter, op: loop.ApplyOp) -> None:
    ranges = [p.range(value) for value in op.indices]
    p.ranges[op.result] = range_of(op.map.data.results[0], ranges)
    COMMON[loop.ApplyOp](p, op)


def _load(p: KernelPrinter, op: loop.LoadOp) -> None:
    if is_vector(op.accessed):
        vectors.load(p, op)
    else:
        COMMON[loop.LoadOp](p, op)


def _store(p: KernelPrinter, op: loop.StoreOp) -> None:
    if is_vector(op.accessed):
        vectors.store(p, op)
        return
    indices = p.indices(op.indices)
    value = p.take(op.value)
    offset = indices.offset(shape_of(op.memref), op.map.data.results)
    p.before_a_write(p.place_of(op.memref, offset))
    p.assign(op.memref, offset, value)


def _alloc(p: KernelPrinter, op: loop.AllocOp) -> None:
    p.alloc(op)


def _view(p: KernelPrinter, op: loop.ViewOp) -> None:
    at = p.indices(op.indices).text(op.start)
    name = p.names.fresh(op.result.name_hint, "view")
    source, element = p.buffers[op.source], element_type(op.result)
    if element != source.element and not p.gpu.has_pointers:
        raise p.refuse(op, f"has no view of {source.element} as {element}")
    line, part = p.gpu.part(name, element, source, at)
    form = linear(op.start)
    distance = vectors.divisor([form.constant, *form.terms.values()])
    aligned = vectors.divisor([source.aligned, distance])
    part = replace(part, elements=p.elements(op.result), aligned=aligned)
    p.declare(op, op.result, part)
    if line:
        p.say(line)


def _table(p: KernelPrinter, op: loop.ConstantOp) -> None:
    element, elements = element_type(op.result), p.elements(op.result)
    name = p.constant(op)
    p.declare(op, op.result, Buffer(name, element, elements, Space.TABLE, constant=True))


def _copy(p: KernelPrinter, op: loop.CopyOp) -> None:
    p.before_a_region()
    index = p.names.fresh("i", "i")
    p.say(f"{p.language.loop(index, p.elements(op.target))} {{")
    with p.deeper():
        p.assign(op.target, index, p.element(op.source, index))
    p.say("}")


def _id(p: KernelPrinter, op: gpu.ThreadIdOp | gpu.BlockIdOp) -> None:
    if not op.result.uses:
        return
    is_thread = isinstance(op, gpu.ThreadIdOp)
    size = (p.block_size if is_thread else p.grid_size)[op.axis]
    p.ranges[op.result] = (0, size - 1)
    text = p.gpu.place("thread" if is_thread else "block", op.axis)
    _name(p, op, text, otherwise=("t" if is_thread else "b") + "xyz"[op.axis])


def _size(p: KernelPrinter, op: gpu.BlockDimOp | gpu.GridDimOp) -> None:
    size = (p.block_size if isinstance(op, gpu.BlockDimOp) else p.grid_size)[op.axis]
    p.ranges[op.result] = (size, size)
    p.words[op.result] = str(size)


def _global_id(p: KernelPrinter, op: gpu.GlobalIdOp) -> None:
    size, count = p.block_size[op.axis], p.grid_size[op.axis]
    p.ranges[op.result] = (0, size * count - 1)
    block, thread = (p.gpu.place(what, op.axis) for what in ("block", "thread"))
    _name(p, op, f"{size} * {block} + {thread}", otherwise=f"g{'xyz'[op.axis]}")


def _name(p: KernelPrinter, op: Operation, text: str, otherwise: str) -> None:
    p.say(p.language.define(p.name(op.results[0], otherwise), IndexType(), text))


def _barrier(p: KernelPrinter, op: gpu.BarrierOp) -> None:
    p.before_a_region()
    p.say(p.gpu.barrier(with_global=p.exchanges_global))


def _return(p: KernelPrinter, op: gpu.ReturnOp) -> None:
    assert not op.values, "kernels return nothing"


def exchanged(kernel: gpu.FuncOp) -> set[SSAValue]:
    """Return the global buffers that a kernel both reads and writes."""
    read: set[SSAValue] = set()
    written: set[SSAValue] = set()
    for op in kernel.walk():
        buffers = [v for v in op.operands if v in kernel.arguments]
        (written if isinstance(op, loop.StoreOp) else read).update(buffers)
        if isinstance(op, gpu.AtomicOp | loop.ViewOp | loop.CopyOp):
            written.update(buffers)
    return read & written


STATEMENTS: dict[type[Operation], Statement] = {
    arith.ConstantOp: _constant,
    loop.ApplyOp: _apply,
    loop.LoadOp: _load,
    loop.StoreOp: _store,
    loop.ForOp: COMMON[loop.ForOp],
    loop.IfOp: COMMON[loop.IfOp],
    loop.AllocOp: _alloc,
    loop.ViewOp: _view,
    loop.ConstantOp: _table,
    loop.CopyOp: _copy,
    loop.GatherOp: vectors.gather,
    vector.BroadcastOp: vectors.broadcast,
    vector.ExtractOp: vectors.extract,
    vector.InsertOp: vectors.insert,
    vector.ShuffleOp: vectors.shuffle,
    vector.ReductionOp: vectors.reduction,
    gpu.ThreadIdOp: _id,
    gpu.BlockIdOp: _id,
    gpu.BlockDimOp: _size,
    gpu.GridDimOp: _size,
    gpu.GlobalIdOp: _global_id,
    gpu.BarrierOp: _barrier,
    gpu.ReturnOp: _return,
}
