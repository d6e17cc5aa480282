"""Matrix products on GPUs: tiles in registers, their factors in shared memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import AllocOp, BlockOp, ForKind, ForOp
from nn_opt.ir.affine import Linear, flat_form, linear, same_sign_in
from nn_opt.ir.target import Gpu
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.schedule.defaults.facts import (
    is_reduction,
    is_stacked,
    loads_of,
    local_buffer,
    readers,
    step,
)
from nn_opt.schedule.defaults.gpu.grids import bind_blocks, bind_elements, fuse_all
from nn_opt.schedule.defaults.gpu.groups import is_plain
from nn_opt.schedule.defaults.gpu.product_tiles import (
    BANKS,
    LANES,
    PAD,
    ProductTile,
    Sizes,
    choose_tile,
)
from nn_opt.schedule.defaults.gpu.products import Product
from nn_opt.schedule.defaults.tiled import at_own_axes
from nn_opt.schedule.fused_axes import only_index
from nn_opt.schedule.inline import may_leave
from nn_opt.schedule.nest import (
    access_exprs,
    blocks_in,
    find_block,
    loads_in,
    ranges_of,
    read,
    stores_in,
    written,
)
from nn_opt.schedule.outside import keeps_outside
from nn_opt.schedule.padding import reads_zeros
from nn_opt.schedule.reindex import depends_on
from nn_opt.schedule.schedule import Schedule

Loops = tuple[list[ForOp], ForOp, ForOp, ForOp]  # of batches, rows, columns, sums


def schedule_product(schedule: Schedule, block: BlockOp, product: Product, gpu: Gpu) -> None:
    """Cut a product into tiles for blocks and threads; finish results before they are stored."""
    stage = block.stage.data
    tile, parts = _choose(block, product, gpu)
    follower = follower_of(schedule, stage)
    join_product(schedule, follower, product, reduced=False)
    loops = join_product(schedule, stage, product)
    _, row, column, k = loops
    for loop, multiple in ((row, tile.height), (column, tile.width)):
        schedule.pad(loop, multiple)
    whole = pad_sum(schedule, stage, k, tile.depth * parts)
    if parts > 1 and whole:
        stage, follower, loops = _split_sums(schedule, stage, follower, loops, parts, gpu)
    _schedule_tiles(schedule, stage, follower, loops, product, tile, gpu)


def _choose(block: BlockOp, product: Product, gpu: Gpu) -> tuple[ProductTile, int]:
    """Return the tile and how many parts each sum has."""
    element = max(numpy_dtype(element_type(buffer)).itemsize for buffer in read(block))
    batch = math.prod(block.axis_sizes[axis] for axis in product.batch)
    sizes = [product.size(block, axes) for axes in (product.rows, product.columns)]
    terms = product.size(block, product.reduced)
    return choose_tile(Sizes(batch, sizes[0], sizes[1], terms), element, gpu)


def _split_sums(
    schedule: Schedule, stage: str, follower: str, loops: Loops, parts: int, gpu: Gpu
) -> tuple[str, str, Loops]:
    """Let a stage be made of parts of each sum, which another kernel adds up and finishes.

    Returns the stage that makes the parts, the one that stores them, and the first one's loops.
    """
    batch, row, column, k = loops
    part, k = schedule.split(k, k.trips // parts)
    schedule.reorder(*batch, row, column, part, k)
    made = schedule.rfactor(stage, part)
    for loop in (column, row, *reversed(batch)):
        schedule.fission(loop)
    rank = len(shape_of(written(find_block(schedule.function, made))[0]))
    schedule.permute(made, [rank - 1, *range(rank - 1)])
    *outer, last = schedule.axes(stage)
    thread = bind_elements(schedule, fuse_all(schedule, outer), gpu)
    schedule.reverse_compute_at(follower, thread)
    schedule.decompose_init(stage, last)
    schedule.set_scope(stage, "register")
    stored = schedule.cache_write(made)
    return made, stored, ([*batch, part], row, column, k)


def _schedule_tiles(
    schedule: Schedule,
    stage: str,
    follower: str,
    loops: Loops,
    product: Product,
    tile: ProductTile,
    gpu: Gpu,
) -> None:
    """Compute a product of padded sizes in tiles, and its follower on each of them."""
    _, row, column, k = loops
    right = _copy(schedule, stage, product.columns_of, [k, column])
    left = _copy(schedule, stage, product.rows_of, [k, row])
    own = [
        _copy(schedule, stage, product.columns_of, [k, column]),
        _copy(schedule, stage, product.rows_of, [k, row]),
    ]
    thread, steps, step = _bind_tiles(schedule, loops, tile, gpu)
    schedule.reverse_compute_at(follower, thread)
    for copy in own:
        schedule.compute_at(copy, step)
    for copy in (left, right):
        _fetch(schedule, copy, steps, tile)
    if tile.height > PAD:
        schedule.storage_align(left, min(BANKS, tile.height), PAD)
    _finish(schedule, stage, own, follower, thread, steps)
    if tile.double and steps.trips > 1:
        for copy in (left, right):
            schedule.double_buffer(copy, steps)


def follower_of(schedule: Schedule, stage: str) -> str:
    """Return the stage that finishes results: the only reader, or a new copy."""
    block = find_block(schedule.function, stage)
    after = readers(block)
    if len(after) == 1 and _follows(after[0], block):
        return after[0].stage.data
    return schedule.cache_write(stage)


def _follows(reader: BlockOp, block: BlockOp) -> bool:
    """Return whether a reader takes each element once, at its own index, and is but arithmetic."""
    alloc = local_buffer(block)
    if alloc is None or is_reduction(reader) or not is_plain(reader) or is_stacked(reader):
        return False
    if reader.axis_sizes != shape_of(alloc.result):
        return False
    if not only_index(reader, range(len(reader.axis_sizes))) or len(list(stores_in(reader))) != 1:
        return False
    return all(at_own_axes(load, reader) for load in loads_of(alloc.result, reader))


def join_product(
    schedule: Schedule, stage: str, product: Product, *, reduced: bool = True
) -> tuple[list[ForOp], ForOp, ForOp, ForOp]:
    """Make the loops of a stage batches, rows, columns and sums; return them in this order.

    Without rows the columns stand for them.
    """
    loops = schedule.axes(stage)
    outside = tuple(axis for axis in product.batch if axis < len(loops))
    groups = [outside, product.rows, product.columns, *([product.reduced] if reduced else [])]
    order = [loops[axis] for group in groups for axis in group]
    if order != loops:
        schedule.reorder(*order)
    batch = [loops[axis] for axis in outside]
    joined = [_joined(schedule, [loops[axis] for axis in group]) for group in groups[1:] if group]
    return batch, joined[0], joined[-2 if reduced else -1], joined[-1]


def _joined(schedule: Schedule, loops: list[ForOp]) -> ForOp:
    return schedule.join(*loops) if len(loops) > 1 else loops[0]


def pad_sum(schedule: Schedule, stage: str, k: ForOp, multiple: int) -> bool:
    """Go on with zeros to a whole number of steps, if both factors are zeros there; tell if so."""
    block = find_block(schedule.function, stage)
    surplus = range(k.trips, -(-k.trips // multiple) * multiple)
    if surplus and not reads_zeros(block, axis_of(block, k), surplus):
        return False
    schedule.pad(k, multiple)
    return True


def _copy(schedule: Schedule, stage: str, operand: int, order: Sequence[ForOp]) -> str:
    """Let a stage read an operand as a copy by batches, sums, and rows or columns."""
    block = find_block(schedule.function, stage)
    load = loads_of(read(block)[operand], block)[0]
    last = [axis_of(block, loop) for loop in order]
    used = depends_on(load, block) or []
    batch = [axis for axis in used if axis not in last]
    return schedule.reindex(stage, operand, [*batch, *last])


def axis_of(block: BlockOp, loop: ForOp) -> int:
    """Return the axis of an unscheduled stage that a loop runs."""
    dims = [
        axis
        for axis, expr in enumerate(block.bindings.data.results)
        if expr == AffineExpr.dimension(list(block.indices).index(loop.index))
    ]
    return dims[0]


def _bind_tiles(
    schedule: Schedule, loops: Loops, tile: ProductTile, gpu: Gpu
) -> tuple[ForOp, ForOp, ForOp]:
    """Split and bind a product's loops; return the inner thread loop and the steps of the sum."""
    batch, row, column, k = loops
    block_row, row = schedule.split(row, tile.height)
    thread_row, row = schedule.split(row, tile.rows)
    block_column, column = schedule.split(column, tile.width)
    thread_column, column = schedule.split(column, LANES)
    steps, step = schedule.split(k, tile.depth)
    inner = [thread_row, thread_column, steps, step, row, column]
    schedule.reorder(*batch, block_row, block_column, *inner)
    _bind_grid(schedule, batch, block_row, block_column, gpu)
    schedule.bind(thread_row, ForKind.THREAD_Y)
    schedule.bind(thread_column, ForKind.THREAD_X)
    return thread_column, steps, step


def _bind_grid(schedule: Schedule, batch: list[ForOp], row: ForOp, column: ForOp, gpu: Gpu) -> None:
    """Bind batches, rows and columns of blocks to a grid, or all along x where others are full."""
    wide = [loop for loop in batch if loop.trips > 1]
    counts = column.trips, row.trips, math.prod(loop.trips for loop in wide)
    if any(count > most for count, most in zip(counts, gpu.grid, strict=True)):
        bind_blocks(schedule, fuse_all(schedule, [*batch, row, column]), gpu)
        return
    schedule.bind(column, ForKind.BLOCK_X)
    schedule.bind(row, ForKind.BLOCK_Y)
    if wide:
        schedule.bind(fuse_all(schedule, batch), ForKind.BLOCK_Z)


def _fetch(schedule: Schedule, copy: str, steps: ForOp, tile: ProductTile) -> None:
    """Let all threads of a block copy a tile into shared memory, neighbours side by side."""
    _inline_sources(schedule, copy)
    schedule.set_scope(copy, "shared")
    schedule.compute_at(copy, steps)
    loops = schedule.axes(copy)
    own = loops[loops.index(steps) + 1 :]
    block = find_block(schedule.function, copy)
    fastest = _fastest(block, own)
    if len(own) > 1 and fastest is not own[-1]:
        own = [loop for loop in own if loop is not fastest] + [fastest]
        schedule.reorder(*own)
    vectors = math.prod(loop.trips for loop in own) // LANES
    enough = vectors >= tile.across * min(tile.down, 2)  # for each thread loop to be one
    lanes = LANES if enough and _moves_vectors(block, fastest) else 1
    rest = fuse_all(schedule, own)
    if lanes > 1:
        rest, vector = schedule.split(rest, lanes)
        schedule.vectorize(vector)
    rest, across = schedule.split(rest, min(tile.across, rest.trips))
    rest, down = schedule.split(rest, min(tile.down, rest.trips))
    schedule.bind(down, ForKind.THREAD_Y)
    schedule.bind(across, ForKind.THREAD_X)


def _inline_sources(schedule: Schedule, copy: str) -> None:
    """Compute what a copy reads of cheap stages where it is read."""
    for source in read(find_block(schedule.function, copy)):
        owner = source.owner
        makers = [b for b in blocks_in(schedule.function) if source in written(b)]
        if not isinstance(owner, AllocOp) or len(makers) != 1:
            continue
        (maker,) = makers
        if is_reduction(maker) or is_stacked(maker) or not is_plain(maker):
            continue
        block = find_block(schedule.function, copy)
        loads = loads_of(source, block)
        if [reader.stage.data for reader in readers(maker)] != [copy]:
            continue
        if any(may_leave(load, block) and not keeps_outside(maker, load) for load in loads):
            continue
        schedule.inline(maker.stage.data)


def _fastest(block: BlockOp, loops: list[ForOp]) -> ForOp:
    """Return the loop along which a copy reads side by side, else the innermost."""
    loads = list(loads_in(block))
    aside = [loop for loop in loops if any(step(load, block, loop) == 1 for load in loads)]
    return aside[-1] if aside else loops[-1]


def _moves_vectors(block: BlockOp, loop: ForOp) -> bool:
    """Return whether a copy can load whole vectors along a loop, all of each inside or outside."""
    loads = list(loads_in(block))
    if len(loads) != 1 or len(list(block.body.block.ops)) != 2 or loop.trips % LANES:
        return False
    shape = shape_of(loads[0].memref)
    exprs = [expr for expr in access_exprs(loads[0], block) if expr is not None]
    if len(exprs) != len(shape) or shape[-1] % LANES:
        return False
    position = list(block.indices).index(loop.index)
    if loads[0].default is None:
        return _is_vector(flat_form(exprs, shape, ranges_of(block.indices)), position)
    alone = not any(position in expr.used_dims() for expr in exprs[:-1])
    return alone and _is_vector(linear(exprs[-1]), position)


def _is_vector(form: Linear, position: int) -> bool:
    """Return whether an index moves by one along a dimension, from multiples of whole vectors."""
    others = {
        atom: factor for atom, factor in form.terms.items() if atom != AffineDimExpr(position)
    }
    if any(position in atom.used_dims() for atom in others) or form.coefficient(position) != 1:
        return False
    return all(factor % LANES == 0 for factor in (*others.values(), form.constant))


def _finish(
    schedule: Schedule, stage: str, own: list[str], follower: str, thread: ForOp, steps: ForOp
) -> None:
    """Keep a thread's part in registers, in vectors."""
    start = schedule.decompose_init(stage, steps)
    for name in (start, stage):
        *_, row, column = schedule.axes(name)
        schedule.unroll(row)
        schedule.vectorize(column)
    for name in own:
        _in_vectors(schedule, name)
        schedule.set_scope(name, "register")
    loops = schedule.axes(follower)
    inner = loops[loops.index(thread) + 1 :]
    for loop in inner[:-1]:
        schedule.unroll(loop)
    if stores_vectors(find_block(schedule.function, follower), inner[-1]):
        schedule.vectorize(inner[-1])
    else:
        schedule.unroll(inner[-1])
    schedule.set_scope(stage, "register")


def _in_vectors(schedule: Schedule, stage: str) -> None:
    loop = schedule.axes(stage)[-1]
    if loop.trips > LANES:
        outer, loop = schedule.split(loop, LANES)
        schedule.unroll(outer)
    schedule.vectorize(loop)


def stores_vectors(block: BlockOp, loop: ForOp) -> bool:
    """Return whether a stage that finishes results can store vectors: side by side, all or none."""
    position = list(block.indices).index(loop.index)
    conditions = block.conditions.data.results
    if not all(same_sign_in(expr, position, loop.trips) for expr in conditions):
        return False
    return all(step(store, block, loop) == 1 for store in stores_in(block)) and all(
        step(load, block, loop) in (0, 1) for load in loads_in(block)
    )
