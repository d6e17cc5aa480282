"""Atomics: elements that threads change one after another."""

from __future__ import annotations

from typing import Any

import numpy as np

from nn_opt.dialects import gpu
from nn_opt.reference.gpu_kernel import Kernel, Rules
from nn_opt.reference.gpu_shadow import Kind
from nn_opt.reference.places import locate
from nn_opt.reference.scalars import unsigned

ATOMICS: dict[gpu.AtomicKind, Any] = {
    gpu.AtomicKind.AddF: np.add,
    gpu.AtomicKind.AddI: np.add,
    gpu.AtomicKind.MaximumF: np.maximum,
    gpu.AtomicKind.MaxNumF: np.fmax,
    gpu.AtomicKind.MaxS: np.maximum,
    gpu.AtomicKind.MaxU: np.maximum,
    gpu.AtomicKind.MinimumF: np.minimum,
    gpu.AtomicKind.MinNumF: np.fmin,
    gpu.AtomicKind.MinS: np.minimum,
    gpu.AtomicKind.MinU: np.minimum,
    gpu.AtomicKind.AndI: np.bitwise_and,
    gpu.AtomicKind.OrI: np.bitwise_or,
    gpu.AtomicKind.XorI: np.bitwise_xor,
}
ATOMICS_UNSIGNED = {gpu.AtomicKind.MaxU, gpu.AtomicKind.MinU}


def atomic(kernel: Kernel, op: gpu.AtomicOp) -> None:
    """An element of each lane combined with a value, lane after lane."""
    buffer = kernel.buffer(op.memref)
    indices = kernel.indices(op, "map", op.indices)
    place, inside = locate(buffer, indices, None, each=False)
    kernel.require_inside(op, buffer, indices, inside, False)
    kernel.touch(op, Kind.ATOMIC, buffer, place, False, True)
    shape = tuple(kernel.sizes)
    active = np.broadcast_to(True if kernel.mask is None else kernel.mask, shape)
    cells = np.broadcast_to(place, shape)[active]
    values = np.broadcast_to(kernel.value(op.value), shape)[active]
    old = np.zeros(shape, buffer.flat.dtype)
    old[active] = exchange(buffer.flat, cells, values, op.kind.data, bool(op.result.uses))
    kernel.values[op.result] = old


def exchange(flat: Any, cells: Any, values: Any, kind: gpu.AtomicKind, wanted: bool) -> Any:
    """Combine values with cells, one after the other; return what was there, if that is wanted."""
    if kind in ATOMICS_UNSIGNED:
        flat, values = unsigned(flat), unsigned(values)
    if not wanted and kind is not gpu.AtomicKind.Assign:
        with np.errstate(all="ignore"):
            ATOMICS[kind].at(flat, cells, values)
        return np.zeros(cells.shape, flat.dtype)
    old = np.empty(cells.shape, flat.dtype)
    for lane, (cell, value) in enumerate(zip(cells, values, strict=True)):
        old[lane] = flat[cell]
        assigns = kind is gpu.AtomicKind.Assign
        flat[cell] = value if assigns else ATOMICS[kind](flat[cell], value)
    return old


RULES: Rules = {
    gpu.AtomicOp: atomic,
}
