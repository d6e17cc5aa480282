"""compute_at and reverse_compute_at: a stage moves into the loops of another."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.dialects.loop import AllocOp, BlockOp, ForOp, Kind, LoadOp, StoreOp
from nn_opt.ir.affine import range_of, simplify
from nn_opt.ir.types import memory_space, shape_of
from nn_opt.schedule.coverage import require_made
from nn_opt.schedule.inline import index_ranges
from nn_opt.schedule.nest import (
    accessors,
    add_condition,
    blocks_in,
    find_block,
    is_ancestor,
    is_inside,
    kinds_bound,
    loads_in,
    loop_name,
    loop_of,
    loops_around,
    own_buffer,
    ranges_of,
    read,
    refuse,
    set_bindings,
    statement_in,
    stores_in,
    top_of_nest,
    written,
)
from nn_opt.schedule.regions import Span, spans_of, union
from nn_opt.schedule.storage import settle

Access = LoadOp | StoreOp


def compute_at(function: FuncOp, stage: str, loop: ForOp) -> None:
    """Move a stage to the start of `loop`'s body, shrunk to what that body needs.

    Readers behind the loop may stay there, if its iterations together make all that they read.
    A stage with a shared buffer makes what the body needs in all threads of a block.
    """
    producer, alloc = own_buffer(function, stage)
    readers = [block for block in accessors(alloc.result) if block is not producer]
    inside = [reader for reader in readers if is_inside(reader, loop)]
    for reader in [] if inside else readers:
        problem = f"compute_at: {reader.stage.data!r} reads {stage!r}"
        refuse(loop, f"{problem} outside {loop_name(loop)}", hint="move that stage in first")
    if not readers:
        refuse(producer, f"compute_at: nothing reads {stage!r}", hint="choose another stage")
    loads = [(ld, b) for b in inside for ld in loads_in(b) if ld.memref is alloc.result]
    spans = _united(loads, loop, producer, threads=memory_space(alloc.result) == "shared")
    for reader in readers:
        if reader not in inside:
            require_made(stage, alloc.result, spans, loop, reader)
    pairs = zip(_stored_axes(producer, alloc.result), spans, strict=True)
    new_nest = _rebuild(producer, {axis: span for axis, span in pairs if axis is not None})
    _insert_early(new_nest, producer, loop.body.block)
    if memory_space(alloc.result) == "shared":
        settle(alloc, function)


def _united(
    accesses: Sequence[tuple[Access, BlockOp]],
    loop: ForOp,
    block: BlockOp,
    *,
    threads: bool = False,
) -> list[Span]:
    """Return what some accesses, each by a stage, cover together in an iteration of a loop."""
    spans = (spans_of(access, accessor, loop, threads=threads) for access, accessor in accesses)
    return [union(dimension, block) for dimension in zip(*spans, strict=True)]


def _insert_early(nest: Operation, block: BlockOp, body: Block) -> None:
    """Put a stage's nest at the start of a body, behind what makes the buffers that it reads."""
    buffers = read(block)
    makers = [b for op in body.ops for b in blocks_in(op) if set(written(b)) & set(buffers)]
    if makers:
        body.insert_op_after(nest, statement_in(body, makers[-1]))
    elif body.first_op is not None:
        body.insert_op_before(nest, body.first_op)


def reverse_compute_at(function: FuncOp, stage: str, loop: ForOp) -> None:
    """Move a stage behind what `loop`'s body produces for it, shrunk to what that body made.

    If the body makes nothing of it, but reads what the stage reads, the stage is shrunk to that.
    """
    consumer = find_block(function, stage)
    buffer, accesses = _shared_with(consumer, loop)
    for block in dict.fromkeys(block for _, block in accesses):
        for around in [*loops_around(loop), loop]:
            if kinds_bound(around, block) - {Kind.PAR}:
                problem = f"loop {loop_name(around)} reduces {block.stage.data!r}"
                refuse(loop, f"reverse_compute_at: {problem}", hint="choose a loop outside of it")
    axis_spans = _axes_of_reads(consumer, buffer, _united(accesses, loop, consumer))
    if isinstance(accesses[0][0], LoadOp):
        _require_whole(function, stage, axis_spans, loop)
    loop.body.block.add_op(_rebuild(consumer, axis_spans))
    for target in written(consumer):
        _allocate_before(target, loop)


def _allocate_before(buffer: SSAValue, loop: ForOp) -> None:
    """Move the allocation of a buffer up to a loop's nest, if it comes behind that."""
    alloc, nest = buffer.owner, (loops_around(loop) or [loop])[0]
    body = nest.parent
    if isinstance(alloc, AllocOp) and body is not None and alloc.parent is body:
        ops = list(body.ops)
        if ops.index(alloc) > ops.index(nest):
            alloc.detach()
            body.insert_op_before(alloc, nest)


def _require_whole(function: FuncOp, stage: str, spans: dict[int, Span], loop: ForOp) -> None:
    """Refuse unless a stage that goes with another reader still makes all that is read of it."""
    block, alloc = own_buffer(function, stage)
    for axis, span in spans.items():
        whole = span.extent >= block.axis_sizes[axis]
        if block.axis_kinds[axis] is not Kind.PAR and not whole:
            problem = f"reverse_compute_at: {loop_name(loop)} cuts what {stage!r} reduces"
            refuse(loop, problem, hint="choose a loop outside of it")
    made = [None if a is None else spans.get(a) for a in _stored_axes(block, alloc.result)]
    for reader in accessors(alloc.result):
        if reader is not block:
            require_made(stage, alloc.result, made, loop, reader)


def _shared_with(
    consumer: BlockOp, loop: ForOp
) -> tuple[SSAValue, Sequence[tuple[Access, BlockOp]]]:
    """Return a buffer that a consumer reads, and how `loop`'s body makes it all, or reads it."""
    inside = blocks_in(loop)
    for buffer in read(consumer):
        writers = [b for b in accessors(buffer) if any(s.memref is buffer for s in stores_in(b))]
        if writers and all(is_inside(writer, loop) for writer in writers):
            return buffer, [(s, w) for w in writers for s in stores_in(w) if s.memref is buffer]
    for buffer in read(consumer):
        loads = [(load, b) for b in inside for load in loads_in(b) if load.memref is buffer]
        if loads and isinstance(buffer.owner, AllocOp):
            return buffer, loads
    problem = f"nothing that {consumer.stage.data!r} reads is made in {loop_name(loop)}"
    refuse(loop, f"reverse_compute_at: {problem}", hint="choose a loop around its producer")


def _stored_axes(producer: BlockOp, buffer: SSAValue) -> list[int | None]:
    """Return the axis that each dimension of a stage's buffer is stored at.

    None for a dimension without an axis: of one element, or stacked, all of it in each instance.
    """
    stores = [store for store in stores_in(producer) if store.memref is buffer]
    first = stores[0]
    region = first.parent
    assert region is not None
    args: list[SSAValue] = list(region.args)
    axes = [args.index(value) for value in first.indices]
    found: list[int | None] = []
    for dimension, expr in enumerate(first.map.data.results):
        match expr:
            case AffineDimExpr(position=position):
                found.append(axes[position])
            case AffineConstantExpr() if _covers(stores, dimension, shape_of(buffer)[dimension]):
                found.append(None)
            case _:
                problem = f"stage {producer.stage.data!r} does not store at its plain axes"
                refuse(producer, problem, hint="move it before other primitives")
    return found


def _covers(stores: Sequence[StoreOp], dimension: int, size: int) -> bool:
    """Return whether a block's stores go to all places of a dimension, in every instance."""
    places = [store.map.data.results[dimension] for store in stores]
    return {place.value for place in places if isinstance(place, AffineConstantExpr)} == set(
        range(size)
    )


def _axes_of_reads(consumer: BlockOp, buffer: SSAValue, spans: Sequence[Span]) -> dict[int, Span]:
    """Return the span of each axis of a consumer that reads the buffer at its plain axes."""
    found: dict[int, Span] = {}
    for load in loads_in(consumer):
        if load.memref is buffer:
            _match_read(consumer, load, spans, found)
    missing = {k for k, size in enumerate(consumer.axis_sizes) if size > 1} - found.keys()
    if missing:
        problem = f"stage {consumer.stage.data!r} repeats over axis {min(missing)} what it reads"
        refuse(consumer, problem, hint="inline it, or compute its producer at it")
    return found


def _match_read(
    consumer: BlockOp, load: LoadOp, spans: Sequence[Span], found: dict[int, Span]
) -> None:
    """Add the span of each axis from which one load takes its indices: `axis` or `axis div k`.

    An index that all instances take from within what every iteration makes, binds no axis.
    """
    axes = list(consumer.axes)
    ranges = index_ranges(load, consumer)
    for expr, span in zip(load.map.data.results, spans, strict=True):
        position, factor = _plain_axis(expr)
        if position is None:
            low, high = range_of(expr, ranges)
            if not span.outer and span.low <= low and high <= span.high:
                continue
            problem = f"stage {consumer.stage.data!r} reads at {expr}, not at a plain axis"
            refuse(consumer, problem, hint="only elementwise readers can follow")
        axis = axes.index(load.indices[position])
        if found.setdefault(axis, _scaled(span, factor)) != _scaled(span, factor):
            problem = f"stage {consumer.stage.data!r} reads its producer at two places"
            refuse(consumer, problem, hint="keep it outside")


def _plain_axis(expr: AffineExpr) -> tuple[int | None, int]:
    """Return (d, k) for the index `d floordiv k`, (d, 1) for `d`, (None, 1) for any other."""
    match expr:
        case AffineDimExpr(position=position):
            return position, 1
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.FloorDiv,
            lhs=AffineDimExpr(position=position),
            rhs=AffineConstantExpr(value=factor),
        ):
            return position, factor
        case _:
            return None, 1


def _scaled(span: Span, factor: int) -> Span:
    """Return all i with i floordiv factor in the span."""
    low, high = span.low * factor, span.high * factor + factor - 1
    return Span(simplify(span.base * factor, ranges_of(span.outer)), span.outer, low, high)


def _rebuild(block: BlockOp, spans: dict[int, Span]) -> Operation:
    """Take a stage out of its plain nest and into a new one over the given spans of its axes.

    An axis without a span keeps its whole loop. Instances beyond an axis' size are skipped.
    """
    axis_of = _plain_loops(block)
    bindings = list(block.bindings.data.results)
    indices: list[SSAValue] = []
    loops: list[ForOp] = []
    for old, axis in axis_of.items():
        span = spans.get(axis)
        trips = span.extent if span else old.trips
        loop = ForOp(trips, kind=old.how, name_hint=old.index.name_hint)
        loop.location = old.location
        if trips > 1 or span is None:
            loops.append(loop)
        bindings[axis] = _bound_to(span, loop if loop in loops else None, indices)
    top_of_nest(block).detach()
    block.detach()
    set_bindings(block, indices, bindings, ())
    nest: Operation = block
    for loop in reversed(loops):
        loop.body.block.add_op(nest)
        nest = loop
    for axis in spans:
        _stay_inside(block, axis)
    return nest


def _plain_loops(block: BlockOp) -> dict[ForOp, int]:
    """Return the loops of an unscheduled stage, outermost first, with the axis of each."""
    axis_of: dict[ForOp, int] = {}
    for axis, expr in enumerate(block.bindings.data.results):
        if isinstance(expr, AffineDimExpr):
            axis_of[loop_of(block.indices[expr.position])] = axis
    top = top_of_nest(block)
    nest = [loop for loop in loops_around(block) if loop is top or is_ancestor(top, loop)]
    nest = [loop for loop in nest if loop in axis_of or loop.trips > 1]
    bound = [e for e in block.bindings.data.results if not isinstance(e, AffineConstantExpr)]
    if set(nest) != set(axis_of) or len(bound) != len(nest) or block.conditions.data.results:
        problem = f"stage {block.stage.data!r} was scheduled before it is moved"
        refuse(block, problem, hint="compute_at and reverse_compute_at first, then split")
    return {loop: axis_of[loop] for loop in nest}


def _bound_to(span: Span | None, loop: ForOp | None, indices: list[SSAValue]) -> AffineExpr:
    """Return the binding of an axis over `indices`, to which it adds the variables it needs."""
    total = AffineExpr.constant(0)
    if span is not None:
        indices += [value for value in span.outer if value not in indices]
        dims = [AffineExpr.dimension(indices.index(value)) for value in span.outer]
        total = span.start.replace_dims_and_symbols(dims, ())
    if loop is not None:
        indices.append(loop.index)
        total = total + AffineExpr.dimension(len(indices) - 1)
    return total


def _stay_inside(block: BlockOp, axis: int) -> None:
    """Skip instances in which an axis is below 0 or beyond its size, where there are any."""
    expr = block.bindings.data.results[axis]
    low, high = range_of(expr, ranges_of(block.indices))
    values = list(block.indices)
    size = block.axis_sizes[axis]
    if low < 0:
        add_condition(block, expr, values)
    if high >= size:
        add_condition(block, expr * -1 + (size - 1), values)
