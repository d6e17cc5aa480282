"""Programs of numbers of few bits: there and back from the others, and in blocks with scales.

Scales are powers of two, since JavaScript does not round products of float32.
"""

from __future__ import annotations

import numpy as np
from agreed_values import DTYPES, FLOATS, NUMBERS, Build, InRows, Program, noise, one, row_numbers

from nn_opt.dialects import graph
from nn_opt.ir.small_types import SMALL
from nn_opt.ir.types import mlir_type

EDGES = np.array([[0.0, -0.4, 1.75, 2.6, 1e4, 0.01]], np.float32)
KINDS = {str(element): element for element in SMALL.values()}


def through(dtype: str) -> Program:
    """Return a program that makes numbers small types', and their own again."""
    element = mlir_type(np.dtype(DTYPES[dtype]))

    def by_way_of(kind: str) -> Build:
        middle = KINDS[kind]
        return lambda x, w: (
            graph.CastOp(graph.CastOp(x if "f" in kind else w, middle).result, element).result
        )

    whole = noise(dtype, len(KINDS), 6, low=0)
    edges = np.broadcast_to(EDGES, (len(KINDS), 6))
    x = edges.astype(DTYPES[dtype]) if dtype in FLOATS else whole
    inputs = (row_numbers(len(KINDS), 2), x, whole)
    build = InRows([by_way_of(kind) for kind in KINDS])
    return Program(tuple(f"cast:{kind}" for kind in KINDS), dtype, inputs, build)


def dequantized(dtype: str) -> Program:
    """Return a program of numbers in blocks, with scales and zero points."""
    f32, scale = mlir_type(np.dtype(np.float32)), np.exp2(noise("f32", 2, 6).round())
    inputs = (noise(dtype, 4, 6), scale, noise(dtype, 2, 6, low=0))
    return one(
        dtype,
        "dequantize",
        lambda w, s, z: graph.DequantizeOp(w, s, z, f32, axis=0, block=2),
        *inputs,
    )


def block_matmul(dtype: str) -> Program:
    """Return a program of a product by weights of 4 bits in blocks."""
    w = (np.arange(8 * 6) * 37 % 256).astype(np.uint8).reshape(8, 6)
    scale, zero = np.exp2(noise("f32", 4, 6).round()), np.full((1, 1), 8, np.float32)
    return one(
        dtype,
        "block_matmul",
        lambda a, w, s, z: graph.BlockMatmulOp(a, w, s, z, block=4, bits=4),
        noise(dtype, 3, 16),
        w,
        scale,
        zero,
    )


def narrow() -> list[Program]:
    """Return all programs of this page."""
    made = [through(dtype) for dtype in DTYPES]
    return [*made, *map(dequantized, NUMBERS), *map(block_matmul, FLOATS)]
