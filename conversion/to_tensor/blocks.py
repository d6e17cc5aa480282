"""Weights of few bits in blocks: numbers are made of them where they are read, in registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.contraction import narrowed, sum_of_products
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import F32, Scalar
from nn_opt.dialects import graph
from nn_opt.ir.types import UNSIGNED, element_type, shape_of


def convert_dequantize(k: Lowering, op: graph.DequantizeOp) -> Array:
    """(w - zero) * scale, parameters read at the block's place."""
    w, scale = k.array(op.w), k.array(op.scale)
    zero = None if op.zero is None else k.array(op.zero)
    axis, block = op.axis.value.data, op.block.value.data

    def formula(b: Body) -> Scalar:
        places = [i // block if at == axis else i for at, i in enumerate(b.par)]
        value = as_single(b.element(w, b.par))
        if zero is not None:
            value = value - as_single(b.element(zero, _kept(zero, places)))
        return value * b.read(scale, _kept(scale, places)).cast(F32)

    return k.compute("dequantize", w.shape, element_type(op.result), formula)


def as_single(x: Scalar) -> Scalar:
    """Return a number as f32."""
    return x.cast(F32)


def _kept(source: Array, places: list[AffineExpr]) -> list[Index]:
    """Return the indices of a parameter, 0 along an axis of which it has one place."""
    return [0 if size == 1 else i for size, i in zip(source.shape, places, strict=True)]


def convert_block_matmul(k: Lowering, op: graph.BlockMatmulOp) -> Array:
    """y[.., m, n] = sum over blocks, bytes and their parts of a[.., m, k] * number[k, n]."""
    if op.in_panels:
        return convert_panels(k, op)
    a, w, scale = k.array(op.a), k.array(op.w), k.array(op.scale)
    zero = None if op.zero is None else k.array(op.zero)
    bits, block, parts = op.bits.value.data, op.block.value.data, op.per_word
    steps = block // parts  # bytes along a block

    def factors(b: Body) -> tuple[Scalar, Scalar]:
        *outer, n = b.par
        at, byte, *part = b.red
        row = at * steps + byte
        inner = row * parts + part[0] if part else row
        places = [at, n]
        number = _part(b, b.element(w, [row, n]), part, bits)
        if zero is not None:
            number = number - b.read(zero, _kept(zero, places)).cast(F32)
        return b.read(a, [*outer, inner]), number * b.read(scale, _kept(scale, places))

    rank = len(shape_of(op.result))
    reduce = [w.shape[0] // steps, steps, *([parts] if parts > 1 else [])]
    names = " ".join([*(f"b{axis}" for axis in range(rank - 2)), *"mn"[-rank:], "kb", "k", "part"])
    names = " ".join(names.split()[: rank + len(reduce)])
    total = sum_of_products(k, "block_matmul", op.result, reduce, factors, names)
    return narrowed(k, "block_matmul", total, op.result)


def convert_panels(k: Lowering, op: graph.BlockMatmulOp) -> Array:
    """y[.., m, p, q] = sum over blocks of scale * (t - zero * s), where of a block t is the sum

    of a * number and s that of a: a number is only unpacked, and the rest is done once a block.
    """
    scale, zero = k.array(op.scale), None if op.zero is None else k.array(op.zero)
    products = _block_products(k, op)
    sums = None if zero is None else _block_sums(k, op)
    *outer, panels, blocks, width = products.shape

    def scaled(b: Body) -> Scalar:
        *rows, p, q = b.par
        places = [p, b.red[0], q]
        total = b.read(products, [*rows, *places])
        if zero is not None and sums is not None:
            point = b.read(zero, _kept(zero, places)).cast(F32)
            total = total - point * b.read(sums, [*rows, b.red[0]])
        return total * b.read(scale, _kept(scale, places)).cast(F32)

    names = " ".join([*_row_names(outer), "p", "q", "kb"])
    shape = [*outer, panels, width]
    total = k.compute(
        "block_matmul", shape, F32, scaled, reduce=[blocks], combiner="add", names=names
    )
    return narrowed(k, "block_matmul", k.view(total, shape_of(op.result)), op.result)


def _block_products(k: Lowering, op: graph.BlockMatmulOp) -> Array:
    """t[.., m, p, kb, q], the sums of a * number over a block."""
    a, w = k.array(op.a), k.array(op.w)
    bits, parts = op.bits.value.data, op.per_word
    steps = op.block.value.data // parts
    panels, words, width = w.shape

    def product(b: Body) -> Scalar:
        *rows, p, block, q = b.par
        word, part = b.red
        at = block * steps + word
        number = _part(b, b.element(w, [p, at, q]), [part], bits)
        return b.read(a, [*rows, at * parts + part]).cast(F32) * number

    outer = shape_of(op.result)[:-1]
    shape, names = [*outer, panels, words // steps, width], [*_row_names(outer), "p", "kb", "q"]
    return k.compute(
        "block_products",
        shape,
        F32,
        product,
        reduce=[steps, parts],
        combiner="add",
        names=" ".join([*names, "k", "part"]),
    )


def _block_sums(k: Lowering, op: graph.BlockMatmulOp) -> Array:
    """s[.., m, kb], the sums of a over a block."""
    a, block = k.array(op.a), op.block.value.data
    outer = a.shape[:-1]

    def element(b: Body) -> Scalar:
        *rows, at = b.par
        return b.read(a, [*rows, at * block + b.red[0]]).cast(F32)

    shape = [*outer, a.shape[-1] // block]
    return k.compute("block_sums", shape, F32, element, reduce=[block], combiner="add")


def _row_names(rows: Sequence[int]) -> list[str]:
    return [*(f"b{axis}" for axis in range(len(rows) - 1)), *"m"[: len(rows)]]


def _part(b: Body, byte: Scalar, part: list[AffineExpr], bits: int) -> Scalar:
    """Return one of the numbers of a byte as f32."""
    whole = byte.cast(_U32)
    if part:
        shift = b.index(part[0] * bits).cast(_U32)
        whole = whole.binary("shr", shift) & ((1 << bits) - 1)
    signed = Scalar(whole.value, _I32)  # small, so that either sign reads the same
    return signed.cast(F32)


_U32: Attribute = UNSIGNED[32]
_I32: Attribute = IntegerType(32)
CONVERTERS = {
    "graph.dequantize": convert_dequantize,
    "graph.block_matmul": convert_block_matmul,
}
