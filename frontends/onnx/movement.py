"""Converters of operators that move elements: views, slices, gathers, scatters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    axes_in,
    axis_in,
    check_count,
    constant,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of


@converts("Identity")
def identity(node: Node) -> Results:
    return node[0]


@converts("Reshape")
def reshape(node: Node) -> Results:
    wanted = node.attrs.ints("shape") if node.version < 5 else node.known_ints(1)
    assert wanted is not None, "the checker asks for a shape"
    return reshaped(node[0], _resolve(shape_of(node[0]), wanted, node.attrs.flag("allowzero")))


def _resolve(shape: Sequence[int], wanted: Sequence[int], allow_zero: bool) -> list[int]:
    """Return the shape that `wanted` stands for: 0 copies a size, one -1 is what is left."""
    if not allow_zero and any(s == 0 and i >= len(shape) for i, s in enumerate(wanted)):
        raise BadNode(f"shape {list(wanted)} copies a size that {list(shape)} does not have")
    sizes = [shape[i] if s == 0 and not allow_zero else s for i, s in enumerate(wanted)]
    if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
        raise BadNode(f"shape {list(wanted)} leaves more than one size open")
    if -1 in sizes:
        rest = math.prod(s for s in sizes if s != -1)
        sizes[sizes.index(-1)] = math.prod(shape) // rest if rest else 0
    if math.prod(sizes) != math.prod(shape):
        raise BadNode(f"cannot reshape {list(shape)} to {list(wanted)}")
    return sizes


@converts("Flatten")
def flatten(node: Node) -> Results:
    shape = shape_of(node[0])
    axis = node.attrs.int("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return reshaped(node[0], [math.prod(shape[:axis]), math.prod(shape[axis:])])


def axes_of(node: Node, moved_at: int, operand: int = 1) -> list[int] | None:
    """Return `axes`: an attribute before opset `moved_at`, an operand since."""
    return node.attrs.ints("axes") if node.version < moved_at else node.known_ints(operand)


@converts("Squeeze")
def squeeze(node: Node) -> Results:
    shape = shape_of(node[0])
    given = axes_of(node, 13)
    axes = [i for i, s in enumerate(shape) if s == 1] if given is None else given
    axes = axes_in(axes, len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise BadNode(f"axes {given} of shape {list(shape)} are not all of size 1")
    return reshaped(node[0], [s for i, s in enumerate(shape) if i not in axes])


@converts("Unsqueeze")
def unsqueeze(node: Node) -> Results:
    given = axes_of(node, 13) or []
    shape = list(shape_of(node[0]))
    for axis in sorted(axes_in(given, len(shape) + len(given))):
        shape.insert(axis, 1)
    return reshaped(node[0], shape)


@converts("Transpose")
def transpose(node: Node) -> Results:
    rank = rank_of(node[0])
    perm = node.attrs.ints("perm")
    return transposed(node[0], list(range(rank))[::-1] if perm is None else axes_in(perm, rank))


@converts("Expand")
def expand(node: Node) -> Results:
    """Broadcasting goes both ways: a 1 in the wanted shape keeps the operand's size."""
    wanted = tuple(node.known_ints(1) or ())
    try:
        return expanded(node[0], np.broadcast_shapes(shape_of(node[0]), wanted))
    except ValueError:
        have = list(shape_of(node[0]))
        raise BadNode(f"cannot broadcast {have} with {list(wanted)}") from None


def expanded(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Return the value broadcast to a shape, itself if it has that already."""
    if shape_of(value) == tuple(shape):
        return value
    return graph.ExpandOp(value, list(shape)).result


@converts("Concat")
def concat(node: Node) -> Results:
    parts = node.present()
    axis = axis_in(node.attrs.int("axis", 1), rank_of(parts[0]))
    return parts[0] if len(parts) == 1 else graph.ConcatOp(parts, axis).result


@converts("Split")
def split(node: Node) -> Results:
    """Sizes: an attribute before opset 13, an operand since; without them, nearly equal parts."""
    shape = shape_of(node[0])
    axis = axis_in(node.attrs.int("axis", 0), len(shape))
    count = node.attrs.int("num_outputs", len(node.outputs))
    sizes = node.attrs.ints("split") if node.version < 13 else node.known_ints(1)
    if node.version < 2 and sizes is None:  # the first opset has both
        sizes = node.known_ints(1)
    if sizes is None:
        sizes = _equal_parts(shape[axis], count)
    if sum(sizes) != shape[axis] or len(sizes) != len(node.outputs):
        raise BadNode(f"parts {sizes} do not make up axis {axis} of {list(shape)}")
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [sliced(node[0], axis, s, n) for s, n in zip(starts, sizes, strict=True)]


def _equal_parts(total: int, count: int) -> list[int]:
    """Return `count` sizes; only the last is smaller, as Split-18 has it."""
    size = -(-total // count)
    return [max(0, min(size, total - size * index)) for index in range(count)]


def sliced(value: SSAValue, axis: int, start: int, size: int) -> SSAValue:
    """Return `size` elements from `start` on along one axis."""
    shape = list(shape_of(value))
    starts = [0] * len(shape)
    starts[axis], shape[axis] = start, size
    return graph.SliceOp(value, starts, shape, [1] * len(shape)).result


@converts("Slice")
def slice_(node: Node) -> Results:
    """Bounds are attributes before opset 10, operands since."""
    if node.version < 10:
        starts, ends = node.attrs.ints("starts"), node.attrs.ints("ends")
        axes, steps = node.attrs.ints("axes"), None
    else:
        starts, ends, axes, steps = (node.known_ints(index) for index in range(1, 5))
    assert starts is not None, "the checker asks for starts"
    assert ends is not None, "the checker asks for ends"
    shape = shape_of(node[0])
    axes = axes_in(range(len(starts)) if axes is None else axes, len(shape))
    steps = [1] * len(starts) if steps is None else steps
    if 0 in steps or not len(starts) == len(ends) == len(axes) == len(steps):
        raise BadNode(f"starts {starts}, ends {ends}, axes {axes}, steps {steps} do not match")
    ranges = [range(size) for size in shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        ranges[axis] = _clamped(shape[axis], start, end, step)
    return sliced_by(node[0], ranges)


def _clamped(size: int, start: int, end: int, step: int) -> range:
    """Return the places of a slice. A start before the axis is its first element, backwards too."""
    first = max(start + size if start < 0 else start, 0)
    return range(size)[first:end:step]


def sliced_by(value: SSAValue, ranges: Sequence[range]) -> SSAValue:
    """Return the elements that a range per axis selects, the value itself for all of them."""
    if all(r == range(size) for r, size in zip(ranges, shape_of(value), strict=True)):
        return value
    starts = [r.start if len(r) else 0 for r in ranges]
    steps = [r.step if len(r) else 1 for r in ranges]
    return graph.SliceOp(value, starts, [len(r) for r in ranges], steps).result


@converts("Pad")
def pad(node: Node) -> Results:
    """Pads and value are attributes before opset 11, operands since; opset 18 names axes."""
    x, rank = node[0], rank_of(node[0])
    if node.version < 11:
        pads = node.attrs.ints("paddings" if node.version < 2 else "pads")
        value = _pad_value(node, x)
    else:
        pads, value = node.known_ints(1), node.get(2)
    axes = node.known_ints(3)
    axes = axes_in(range(rank) if axes is None else axes, rank)
    if pads is None or len(pads) != 2 * len(axes):
        raise BadNode(f"pads {pads} do not give two numbers for each of axes {axes}")
    full = [0] * (2 * rank)
    for index, axis in enumerate(axes):
        full[axis], full[axis + rank] = pads[index], pads[index + len(axes)]
    mode = node.attrs.text("mode", "constant")
    if not any(full):
        return x
    value = reshaped(value, []) if value is not None and mode == "constant" else None
    return graph.PadOp(x, full, mode, value).result


def _pad_value(node: Node, x: SSAValue) -> SSAValue | None:
    value = node.attrs.float("value", 0.0)
    return scalar_like(value, x) if value else None


@converts("CenterCropPad")
def center_crop_pad(node: Node) -> Results:
    """Cut or fill both ends alike; the odd element is one at the end."""
    shape, wanted = shape_of(node[0]), node.known_ints(1) or []
    axes = axes_in(node.attrs.ints("axes") or range(len(shape)), len(shape))
    if len(wanted) != len(axes):
        raise BadNode(f"sizes {wanted} are not one for each of axes {axes}")
    pads = [0] * (2 * len(shape))
    for axis, size in zip(axes, wanted, strict=True):
        more = size - shape[axis]
        pads[axis] = int(more / 2)
        pads[axis + len(shape)] = more - pads[axis]
    return graph.PadOp(node[0], pads, "constant", None).result if any(pads) else node[0]


@converts("Tile")
def tile(node: Node) -> Results:
    repeats = node.known_ints(1) or []
    if node.version < 6:  # how often, and along which axis
        axis = (node.known_ints(2) or [0])[0]
        repeats = [repeats[0] if place == axis else 1 for place in range(rank_of(node[0]))]
    return node[0] if set(repeats) <= {1} else graph.TileOp(node[0], repeats).result


@converts("DepthToSpace")
def depth_to_space(node: Node) -> Results:
    n, c, h, w = _image(node[0])
    b = node.attrs.int("blocksize", 1)
    if node.attrs.text("mode", "DCR") == "DCR":
        split, perm = [n, b, b, c // (b * b), h, w], [0, 3, 4, 1, 5, 2]
    else:
        split, perm = [n, c // (b * b), b, b, h, w], [0, 1, 4, 2, 5, 3]
    moved = transposed(reshaped(node[0], split), perm)
    return reshaped(moved, [n, c // (b * b), h * b, w * b])


@converts("SpaceToDepth")
def space_to_depth(node: Node) -> Results:
    n, c, h, w = _image(node[0])
    b = node.attrs.int("blocksize", 1)
    # Opset 28 has mode CRD: the channel counts more than the place in the block.
    perm = [0, 1, 3, 5, 2, 4] if node.attrs.text("mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    moved = transposed(reshaped(node[0], [n, c, h // b, b, w // b, b]), perm)
    return reshaped(moved, [n, c * b * b, h // b, w // b])


def _image(value: SSAValue) -> tuple[int, int, int, int]:
    shape = shape_of(value)
    if len(shape) != 4:
        raise BadNode(f"operand 0 has shape {list(shape)}, expected [N, C, H, W]")
    return shape[0], shape[1], shape[2], shape[3]


@converts("Gather")
def gather(node: Node) -> Results:
    axis = axis_in(node.attrs.int("axis", 0), rank_of(node[0]))
    return graph.GatherOp(node[0], node[1], axis).result


@converts("GatherElements")
def gather_elements(node: Node) -> Results:
    axis = axis_in(node.attrs.int("axis", 0), rank_of(node[0]))
    return graph.GatherElementsOp(node[0], node[1], axis).result


@converts("GatherND")
def gather_nd(node: Node) -> Results:
    return graph.GatherNDOp(node[0], node[1], batch_dims=node.attrs.int("batch_dims")).result


@converts("Scatter", "ScatterElements")
def scatter_elements(node: Node) -> Results:
    axis = axis_in(node.attrs.int("axis", 0), rank_of(node[0]))
    reduction = node.attrs.text("reduction", "none")
    return graph.ScatterElementsOp(node[0], node[1], node[2], axis, reduction=reduction).result


@converts("ScatterND")
def scatter_nd(node: Node) -> Results:
    reduction = node.attrs.text("reduction", "none")
    return graph.ScatterNDOp(node[0], node[1], node[2], reduction=reduction).result


@converts("Trilu")
def trilu(node: Node) -> Results:
    """Keep one side of a diagonal, zero elsewhere."""
    shape = shape_of(node[0])
    diagonal = (node.known_ints(1) or [0])[0]
    check_count(math.prod(shape[-2:]))
    rows, columns = np.indices(shape[-2:])
    distance = columns - rows
    keep = distance >= diagonal if node.attrs.flag("upper", True) else distance <= diagonal
    return graph.WhereOp(constant(keep), node[0], scalar_like(0, node[0])).result


@converts("ReverseSequence")
def reverse_sequence(node: Node) -> Results:
    """Gather with the time index mirrored inside each sequence's length."""
    shape = shape_of(node[0])
    time, batch = node.attrs.int("time_axis", 0), node.attrs.int("batch_axis", 1)
    lengths = node.known(1)
    assert lengths is not None
    steps = np.arange(shape[time])[None, :]
    ends = lengths.reshape(-1, 1)
    index = np.where(steps < ends, ends - 1 - steps, steps)
    full = [1] * len(shape)
    full[batch], full[time] = index.shape
    index = index.T if time < batch else index
    index = np.broadcast_to(index.reshape(full), shape).astype(np.int64)
    return graph.GatherElementsOp(node[0], constant(index), time).result
