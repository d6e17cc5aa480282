"""Layouts as index expressions: where an element lies, and which one lies here."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import Scalar
from nn_opt.dialects import graph
from nn_opt.dialects.graph.layouts import Layout, parse_layout
from nn_opt.ir.types import shape_of

Indices = dict[str, AffineExpr]  # by axis letter


def logical_indices(layout: Layout, axes: Sequence[AffineExpr]) -> Indices:
    """Return the logical index of each letter, given the index along each physical axis."""
    logical: Indices = {}
    for (letter, block), axis in zip(layout.split(), axes, strict=True):
        logical[letter] = logical[letter] * block + axis if block else axis
    return logical


def physical_indices(layout: Layout, logical: Indices) -> list[Index]:
    """Return the index along each physical axis, given the logical index of each letter."""
    inner = {letter: layout.block_of(letter) for letter in layout.axes}
    indices: list[Index] = []
    for letter, block in layout.split():
        index = logical[letter]
        if block:
            inner[letter] //= block
            index = index % (block * inner[letter])
        indices.append(index // inner[letter] if inner[letter] > 1 else index)
    return indices


def convert_layout_transform(k: Lowering, op: graph.LayoutTransformOp) -> Array:
    """Read where the source layout keeps the logical element; 0 beyond its size."""
    x = k.array(op.x)
    source, target = parse_layout(op.source.data), parse_layout(op.target.data)
    sizes = dict(zip(source.axes, op.sizes.get_values(), strict=True))

    def formula(b: Body) -> Scalar:
        logical = logical_indices(target, b.par)
        result = b.element(x, physical_indices(source, logical), 0)
        for letter, size in sizes.items():
            padded = size % target.block_of(letter) and size % source.block_of(letter)
            if padded:  # what the source has beyond the size may be anything
                result = b.index(logical[letter]).compare("lt", size).select(result, 0)
        return result

    return k.compute("layout", shape_of(op.result), x.dtype, formula)


CONVERTERS = {"graph.layout_transform": convert_layout_transform}
