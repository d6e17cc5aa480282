"""Result shapes of graph ops as pure functions of integers; -1 is an unknown size.

Verifier, builders, importers and tests all call these. Every function raises ValueError, with a
text that says actual versus expected, if the shapes do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

Shape = tuple[int, ...]
UNKNOWN = -1


def normal_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the front; raises ValueError outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is not in [{-rank}, {rank})")
    return axis % rank


def check_length(name: str, values: Sequence[object], expected: int) -> None:
    """Raise ValueError unless there are `expected` values."""
    if len(values) != expected:
        raise ValueError(f"has {len(values)} {name}, expected {expected}")


def check_positive(name: str, values: Sequence[int]) -> None:
    """Raise ValueError unless all values are at least 1."""
    if any(value < 1 for value in values):
        raise ValueError(f"{name} are {list(values)}, expected all of them >= 1")


def same_size(a: int, b: int) -> bool:
    """Return whether two sizes can be equal."""
    return a == b or UNKNOWN in (a, b)


def compatible(a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether two shapes can be equal, sizes of -1 being anything."""
    return len(a) == len(b) and all(map(same_size, a, b))


def _broadcast_size(sizes: Sequence[int]) -> int:
    known = {size for size in sizes if size not in (1, UNKNOWN)}
    if len(known) > 1:
        raise ValueError(f"sizes {sorted(known)} do not broadcast")
    if known:
        return known.pop()
    return UNKNOWN if UNKNOWN in sizes else 1


def broadcast_shape(*shapes: Sequence[int]) -> Shape:
    """Return the common shape of operands, aligned at the last axis.

    Source: NumPy broadcasting; ONNX "Multidirectional broadcasting".
    """
    if all(shape == shapes[0] for shape in shapes):
        return tuple(shapes[0])
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    try:
        return tuple(_broadcast_size(sizes) for sizes in zip(*padded, strict=True))
    except ValueError as error:
        shown = " and ".join(str(list(shape)) for shape in shapes)
        raise ValueError(f"shapes {shown} do not broadcast: {error}") from error


def expand_shape(shape: Sequence[int], target: Sequence[int]) -> Shape:
    """Return `target` after checking that `shape` broadcasts to exactly it."""
    if len(shape) > len(target):
        raise ValueError(f"shape {list(shape)} has more axes than {list(target)}")
    aligned = target[len(target) - len(shape) :]
    if any(s not in (1, t, UNKNOWN) and t != UNKNOWN for s, t in zip(shape, aligned, strict=True)):
        raise ValueError(f"shape {list(shape)} does not expand to {list(target)}")
    return tuple(target)


def reshape_shape(shape: Sequence[int], target: Sequence[int]) -> Shape:
    """Return `target`, one unknown size filled in, if it has as many elements as `shape`."""
    rest = prod(size for size in target if size != UNKNOWN)
    if list(target).count(UNKNOWN) == 1 and UNKNOWN not in shape and rest:
        target = [prod(shape) // rest if size == UNKNOWN else size for size in target]
    if UNKNOWN not in (*shape, *target) and prod(shape) != prod(target):
        raise ValueError(
            f"result shape {list(target)} has {prod(target)} elements,"
            f" expected {prod(shape)} as in {list(shape)}"
        )
    return tuple(target)


def transpose_shape(shape: Sequence[int], perm: Sequence[int]) -> Shape:
    """Return the shape whose axis i is axis perm[i] of `shape`."""
    if sorted(perm) != list(range(len(shape))):
        raise ValueError(f"perm {list(perm)} is no permutation of 0..{len(shape) - 1}")
    return tuple(shape[axis] for axis in perm)


def concat_shape(shapes: Sequence[Sequence[int]], axis: int) -> Shape:
    """Return the shape of operands joined along an axis; the other sizes must agree."""
    if not shapes:
        raise ValueError("has no operands, expected at least 1")
    first = tuple(shapes[0])
    axis = normal_axis(axis, len(first))
    for shape in shapes:
        if len(shape) != len(first):
            raise ValueError(f"operand has rank {len(shape)}, expected {len(first)}")
    columns = [tuple(sizes) for sizes in zip(*shapes, strict=True)]
    for index, sizes in enumerate(columns):
        if index != axis and len(set(sizes) - {UNKNOWN}) > 1:
            raise ValueError(f"sizes along axis {index} are {list(sizes)}, expected equal ones")
    joined = UNKNOWN if UNKNOWN in columns[axis] else sum(columns[axis])
    return tuple(joined if index == axis else max(c) for index, c in enumerate(columns))


def slice_shape(
    shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> Shape:
    """Return `sizes` after checking that start + step * (size - 1) stays inside every axis."""
    for name, values in (("starts", starts), ("sizes", sizes), ("steps", steps)):
        check_length(name, values, len(shape))
    for axis, extent in enumerate(shape):
        start, size, step = starts[axis], sizes[axis], steps[axis]
        last = start + step * (size - 1)
        inside = extent == UNKNOWN or (0 <= start < extent and 0 <= last < extent)
        if size < 0 or step == 0 or (size > 0 and not inside):
            raise ValueError(
                f"axis {axis} takes {size} elements from {start} by {step}"
                f" out of {extent}, expected all of them inside"
            )
    return tuple(sizes)


def pad_shape(shape: Sequence[int], pads: Sequence[int]) -> Shape:
    """Return the padded shape; pads = [begin of each axis, end of each axis], may be negative."""
    rank = len(shape)
    check_length("pads", pads, 2 * rank)
    sizes = [
        UNKNOWN if size == UNKNOWN else size + begin + end
        for size, begin, end in zip(shape, pads[:rank], pads[rank:], strict=True)
    ]
    if any(size < 0 for size in sizes if size != UNKNOWN) or any(
        size == UNKNOWN and old != UNKNOWN for size, old in zip(sizes, shape, strict=True)
    ):
        raise ValueError(f"pads {list(pads)} cut more than there is of {list(shape)}")
    return tuple(sizes)


def gather_shape(shape: Sequence[int], indices: Sequence[int], axis: int) -> Shape:
    """Return the shape with the axis replaced by the shape of the indices. Source: ONNX Gather."""
    axis = normal_axis(axis, len(shape))
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def gather_elements_shape(shape: Sequence[int], indices: Sequence[int], axis: int) -> Shape:
    """Return the shape of the indices, which must have the data's rank. Source: ONNX."""
    normal_axis(axis, len(shape))
    if len(shape) != len(indices):
        raise ValueError(f"indices have rank {len(indices)}, expected {len(shape)}")
    return tuple(indices)


def gather_nd_shape(shape: Sequence[int], indices: Sequence[int], batch_dims: int) -> Shape:
    """Return indices.shape[:-1] + shape[batch_dims + indices.shape[-1]:]. Source: ONNX GatherND."""
    if not indices or not shape:
        raise ValueError("data and indices must have at least 1 axis")
    if not 0 <= batch_dims < min(len(shape), len(indices)):
        raise ValueError(f"batch_dims is {batch_dims}, expected less than both ranks")
    if not compatible(shape[:batch_dims], indices[:batch_dims]):
        raise ValueError(
            f"batch sizes are {list(shape[:batch_dims])} and {list(indices[:batch_dims])},"
            " expected equal ones"
        )
    depth = indices[-1]
    if not 1 <= depth <= len(shape) - batch_dims:
        raise ValueError(f"index depth is {depth}, expected 1 to {len(shape) - batch_dims}")
    return (*indices[:-1], *shape[batch_dims + depth :])


def scatter_nd_shape(data: Sequence[int], indices: Sequence[int], updates: Sequence[int]) -> Shape:
    """Return the data's shape; updates must be as GatherND of data would be. Source: ONNX."""
    expected = gather_nd_shape(data, indices, 0)
    if not compatible(updates, expected):
        raise ValueError(f"updates have shape {list(updates)}, expected {list(expected)}")
    return tuple(data)


def scatter_elements_shape(
    data: Sequence[int], indices: Sequence[int], updates: Sequence[int], axis: int
) -> Shape:
    """Return the data's shape; indices and updates have one shape of the data's rank."""
    gather_elements_shape(data, indices, axis)
    if not compatible(indices, updates):
        raise ValueError(f"updates have shape {list(updates)}, expected {list(indices)}")
    return tuple(data)


def tile_shape(shape: Sequence[int], repeats: Sequence[int]) -> Shape:
    """Return the shape with each size times its number of repeats."""
    check_length("repeats", repeats, len(shape))
    if any(count < 0 for count in repeats):
        raise ValueError(f"repeats are {list(repeats)}, expected all of them >= 0")
    return tuple(UNKNOWN if s == UNKNOWN else s * r for s, r in zip(shape, repeats, strict=True))


def reduce_shape(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> Shape:
    """Return the shape without the axes, or with 1 there if keepdims. No axes: nothing is reduced.

    Raises: ValueError if an axis is out of range or named twice.
    """
    gone = {normal_axis(axis, len(shape)) for axis in axes}
    if len(gone) != len(axes):
        raise ValueError(f"axes are {list(axes)}, expected distinct ones")
    if keepdims:
        return tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


def matmul_shape(a: Sequence[int], b: Sequence[int]) -> Shape:
    """Return the shape of a @ b: batch axes broadcast, a vector operand loses its axis.

    Source: numpy.matmul; ONNX MatMul-13.
    """
    if not a or not b:
        raise ValueError("operands must have at least 1 axis")
    rows, left = ((), a) if len(a) == 1 else (a[-2:-1], a)
    columns, inner = ((), b[0]) if len(b) == 1 else (b[-1:], b[-2])
    if not same_size(left[-1], inner):
        raise ValueError(f"inner sizes are {left[-1]} and {inner}, expected equal ones")
    return (*broadcast_shape(a[:-2], b[:-2]), *rows, *columns)


MOST_REACH = 2**31 - 1  # of a window along one axis, in elements


def window_positions(
    size: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int, ceil: bool = False
) -> int:
    """Return how many windows fit along one axis: none where there are no elements.

    Units:  all in elements of the axis; pads = (before, after).
    Raises: ValueError if not even one window fits.
    Source: ONNX Conv-22, AveragePool-22: with ceil, a window that would start in the padding
            after the data is dropped (as in PyTorch).
    """
    if UNKNOWN in (size, kernel):
        return UNKNOWN
    reach = (kernel - 1) * dilation + 1
    if max(reach, *map(abs, pads)) > MOST_REACH:
        raise ValueError(f"kernel {kernel} (dilation {dilation}), pads {pads} are absurd")
    span = size + pads[0] + pads[1] - reach
    count = (-(-span // stride) if ceil else span // stride) + 1
    if ceil and (count - 1) * stride >= size + pads[0]:
        count -= 1
    if size == 0:
        return max(count, 0)
    if count < 1:
        raise ValueError(f"kernel {kernel} (dilation {dilation}) does not fit {size} plus {pads}")
    return count


def _check_window(
    rank: int, strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]
) -> None:
    check_length("strides", strides, rank)
    check_length("pads", pads, 2 * rank)
    check_length("dilations", dilations, rank)
    check_positive("strides", strides)
    check_positive("dilations", dilations)


def window_shape(
    spatial: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil: bool = False,
) -> Shape:
    """Return the number of windows along every spatial axis; see `window_positions`."""
    rank = len(spatial)
    check_length("kernel sizes", kernel, rank)
    _check_window(rank, strides, pads, dilations)
    return tuple(
        window_positions(
            spatial[i], kernel[i], strides[i], (pads[i], pads[i + rank]), dilations[i], ceil
        )
        for i in range(rank)
    )


def conv_shape(
    x: Sequence[int],
    w: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
) -> Shape:
    """Return the result shape [N, F, P, Q, ...] of a convolution.

    Shapes: x [N, C, H, W, ...]; w [F, C / group, R, S, ...].
    Units:  strides, dilations one a spatial axis; pads = begins then ends, in elements.
    Source: ONNX Conv-22.
    """
    if len(x) < 3 or len(w) != len(x):
        raise ValueError(f"ranks are {len(x)} and {len(w)}, expected equal ones of at least 3")
    check_positive("group", (group,))
    if UNKNOWN not in (x[1], w[1]) and x[1] != w[1] * group:
        raise ValueError(
            f"input has {x[1]} channels but the filter expects {w[1] * group}"
            f" ({w[1]} in {group} group(s))"
        )
    if w[0] != UNKNOWN and w[0] % group:
        raise ValueError(f"{w[0]} output channels do not divide into {group} groups")
    return (x[0], w[0], *window_shape(x[2:], w[2:], strides, pads, dilations))


def _transposed_size(
    size: int, kernel: int, stride: int, pads: int, dilation: int, output_padding: int
) -> int:
    if UNKNOWN in (size, kernel):
        return UNKNOWN
    result = stride * (size - 1) + output_padding + (kernel - 1) * dilation + 1 - pads
    if result < 1:
        raise ValueError(f"result size would be {result}, expected at least 1")
    return result


def conv_transpose_shape(
    x: Sequence[int],
    w: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
    output_padding: Sequence[int],
) -> Shape:
    """Return the result shape [N, F, P, Q, ...] of a transposed convolution.

    Shapes: x [N, C, H, W, ...]; w [C, F / group, R, S, ...].
    Source: ONNX ConvTranspose-22: stride * (size - 1) + output_padding + (kernel - 1) * dilation
            + 1 - pads.
    """
    rank = len(x) - 2
    if rank < 1 or len(w) != len(x):
        raise ValueError(f"ranks are {len(x)} and {len(w)}, expected equal ones of at least 3")
    _check_window(rank, strides, pads, dilations)
    check_length("output_padding", output_padding, rank)
    check_positive("group", (group,))
    if not same_size(x[1], w[0]) or (x[1] != UNKNOWN and x[1] % group):
        raise ValueError(f"input has {x[1]} channels, filter {w[0]} in {group} group(s)")
    spatial = tuple(
        _transposed_size(
            x[i + 2],
            w[i + 2],
            strides[i],
            pads[i] + pads[i + rank],
            dilations[i],
            output_padding[i],
        )
        for i in range(rank)
    )
    return (x[0], UNKNOWN if w[1] == UNKNOWN else w[1] * group, *spatial)


def pool_shape(
    x: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil: bool,
) -> Shape:
    """Return the result shape [N, C, P, Q, ...] of pooling. Source: ONNX MaxPool/AveragePool-22."""
    if len(x) < 3:
        raise ValueError(f"rank is {len(x)}, expected at least 3")
    check_positive("kernel", kernel)
    return (*x[:2], *window_shape(x[2:], kernel, strides, pads, dilations, ceil))
