"""Memory layouts written as axis letters and inner blocks: NCHW, NCHW16c, OIHW16i16o, KN32n."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from nn_opt.dialects.graph.shapes import UNKNOWN, Shape, check_length, conv_shape, pool_shape

_LAYOUT = re.compile(r"([A-Z]+)((?:[1-9]\d*[a-z])*)")
_BLOCK = re.compile(r"(\d+)([a-z])")


@dataclass(frozen=True)
class Layout:
    """`axes` are the outer axes in memory order, `blocks` the inner ones: (size, letter)."""

    axes: str
    blocks: tuple[tuple[int, str], ...]

    def block_of(self, letter: str) -> int:
        """Return the product of the blocks of an axis, 1 if it has none."""
        result = 1
        for size, axis in self.blocks:
            result *= size if axis == letter else 1
        return result

    def split(self) -> list[tuple[str, int]]:
        """Return (letter, size or 0) of every physical axis: 0 for the outer ones."""
        return [(axis, 0) for axis in self.axes] + [(axis, size) for size, axis in self.blocks]


@lru_cache(maxsize=256)
def parse_layout(text: str) -> Layout:
    """Return the layout that a text like "NCHW16c" names.

    Raises: ValueError if it is malformed, names an axis twice or blocks an axis it lacks.
    """
    match = _LAYOUT.fullmatch(text)
    if match is None:
        raise ValueError(f"layout is {text!r}, expected letters then blocks, as in 'NCHW16c'")
    axes = match[1]
    blocks = tuple((int(size), letter.upper()) for size, letter in _BLOCK.findall(match[2]))
    if len(set(axes)) != len(axes) or not {letter for _, letter in blocks} <= set(axes):
        raise ValueError(f"layout {text!r} names an axis twice or blocks one that it lacks")
    return Layout(axes, blocks)


def logical_sizes(shape: Sequence[int], layout: Layout) -> dict[str, int]:
    """Return the size of every letter: of a blocked axis, the size padded to whole blocks."""
    check_length("axes", shape, len(layout.axes) + len(layout.blocks))
    inner = [size for size, _ in layout.blocks]
    actual = list(shape[len(layout.axes) :])
    if any(a not in (b, UNKNOWN) for a, b in zip(actual, inner, strict=True)):
        raise ValueError(f"inner blocks are {actual}, expected {inner}")
    outer = dict(zip(layout.axes, shape, strict=False))
    return {a: UNKNOWN if s == UNKNOWN else s * layout.block_of(a) for a, s in outer.items()}


def physical_shape(sizes: dict[str, int], layout: Layout) -> Shape:
    """Return the shape in memory of a tensor with these logical sizes."""
    outer = (
        UNKNOWN if sizes[axis] == UNKNOWN else -(-sizes[axis] // layout.block_of(axis))
        for axis in layout.axes
    )
    return (*outer, *(size for size, _ in layout.blocks))


def layout_transform_shape(
    shape: Sequence[int], source: str, target: str, sizes: Sequence[int]
) -> Shape:
    """Return the shape in layout `target` of a tensor that has `shape` in layout `source`.

    `sizes` are the logical sizes in the order of the source's letters; a blocked axis may be
    longer than its logical size by less than one block, and that much is cropped or padded.
    """
    old, new = parse_layout(source), parse_layout(target)
    if set(old.axes) != set(new.axes):
        raise ValueError(f"layouts are {source!r} and {target!r}, expected the same letters")
    check_length("sizes", sizes, len(old.axes))
    logical = dict(zip(old.axes, sizes, strict=True))
    logical_sizes(shape, old)
    expected = physical_shape(logical, old)
    if any(a != b and UNKNOWN not in (a, b) for a, b in zip(shape, expected, strict=True)):
        raise ValueError(
            f"input shape is {list(shape)}, expected {list(expected)}:"
            f" {source} of logical sizes {list(sizes)}"
        )
    return physical_shape(logical, new)


def conv_layouts(layout: str) -> tuple[str, str]:
    """Return (input layout, result layout) of a conv's `layout`: "A->B", or "A" for both."""
    source, _, target = layout.partition("->")
    return source, target or source


def _blocked(layout: str, what: str) -> Layout:
    """Return the layout after checking that it is N, C, spatial..., with at most a C block."""
    parsed = parse_layout(layout)
    if parsed.axes[:2] != "NC" or any(axis != "C" for _, axis in parsed.blocks):
        raise ValueError(f"{what} layout is {layout!r}, expected one like 'NCHW' or 'NCHW16c'")
    if len(parsed.blocks) > 1:
        raise ValueError(f"{what} layout {layout!r} has {len(parsed.blocks)} blocks, expected 1")
    return parsed


def blocked_conv_shape(
    x: Sequence[int],
    w: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
    layout: str,
    weight_layout: str,
) -> Shape:
    """Return the result shape of a convolution on channel-blocked tensors.

    Shapes: "NCHW16c", weights "OIHW16i16o": x [N, C/16, H, W, 16], w [F/16, C/16, R, S, 16, 16];
            "NCHW->NCHW16c", weights "OIHW16o": x [N, C, H, W], w [F/16, C, R, S, 16];
            "NCHW16c", weights "OIHW16o", group = C: w [C/16, 1, R, S, 16]. Result as x.
            Other groups are of whole blocks: F / group is a multiple of 16, and C / group too if
            x is blocked.
            Division rounds up: the last block is padded with zeros.
    """
    source, target = conv_layouts(layout)
    old, new = _blocked(source, "input"), _blocked(target, "result")
    weights = _weights(weight_layout)
    image, filters = logical_sizes(x, old), logical_sizes(w, weights)
    if old.block_of("C") != weights.block_of("I") and group == 1:
        raise ValueError(
            f"input blocks are {old.block_of('C')}, expected {weights.block_of('I')} as in"
            f" {weight_layout!r}"
        )
    if new.block_of("C") != weights.block_of("O"):
        raise ValueError(
            f"result blocks are {new.block_of('C')}, expected {weights.block_of('O')} as in"
            f" {weight_layout!r}"
        )
    plain_x = tuple(image[axis] for axis in old.axes)
    plain_w = tuple(filters[axis] for axis in weights.axes)
    groups = _blocked_group(plain_x, plain_w, group, new.block_of("C"))
    plain = conv_shape(plain_x, plain_w, strides, pads, dilations, groups)
    return physical_shape(dict(zip(old.axes, plain, strict=True)), new)


def _weights(layout: str) -> Layout:
    """Return the layout after checking that it starts with O, I."""
    if not layout.startswith("OI"):
        raise ValueError(f"weight layout is {layout!r}, expected one like 'OIHW16i16o'")
    return parse_layout(layout)


def _blocked_group(x: Sequence[int], w: Sequence[int], group: int, block: int) -> int:
    """Return the group count on padded channels: 1, or all of them for a depthwise conv.

    Groups of whole blocks of filters have no padding; their channels are whole blocks, too, if
    those are in blocks, as x has no more of them than the weights.
    """
    if group == 1 or (x[1] == group * w[1] and w[0] % (group * block) == 0):
        return group
    padded = -(-group // block) * block
    if w[1] != 1 or x[1] not in (padded, UNKNOWN) or w[0] not in (padded, UNKNOWN):
        raise ValueError(
            f"{group} groups of {x[1]} channels, weights {list(w)}: a blocked conv takes group = 1,"
            " one channel a group (weights 'OIHW16o' with I = 1) or groups of whole blocks"
        )
    return padded


def blocked_pool_shape(
    x: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil: bool,
    layout: str,
) -> Shape:
    """Return the result shape of pooling in a layout like "NCHW16c"."""
    parsed = _blocked(layout, "input")
    outer = len(parsed.axes)
    logical_sizes(x, parsed)
    return (*pool_shape(x[:outer], kernel, strides, pads, dilations, ceil), *x[outer:])
