"""Fragments of matrices: each lane of a subgroup has the whole matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import InterpretationError

from nn_opt.dialects import gpu
from nn_opt.ir.diagnostics import complaint
from nn_opt.reference.gpu_kernel import Kernel, Rules
from nn_opt.reference.gpu_shadow import Kind
from nn_opt.reference.gpu_subgroups import width_of
from nn_opt.reference.places import Buffer
from nn_opt.reference.scalars import as_type, unsigned

Combine = Callable[..., Any]


def fragment_place(
    kernel: Kernel, op: gpu.MmaLoadOp | gpu.MmaStoreOp, memref: SSAValue, type_: Attribute
) -> tuple[Buffer, Any]:
    """Return the buffer, and where the elements of a fragment are, along two more axes."""
    assert isinstance(type_, gpu.MmaMatrixType)
    width_of(kernel, op)
    buffer, lead = kernel.buffer(memref), op.leadDimension.value.data
    rows, columns = np.arange(type_.shape[0]), np.arange(type_.shape[1])
    steps = rows[:, None] * lead + columns
    if op.transpose is not None:
        steps = rows[:, None] + columns * lead
    place: Any = 0
    for index, size in zip(op.indices, buffer.shape, strict=True):
        place = place * size + np.asarray(kernel.value(index))
    place = np.asarray(place)[..., None, None] + steps
    if np.any((place < 0) | (place >= buffer.size)):
        far = int(np.max(place))
        problem = f"reaches element {far} of a buffer of {buffer.size}"
        raise InterpretationError(complaint(op, problem))
    return buffer, np.asarray(buffer.start)[..., None, None] + place


def mma_load(kernel: Kernel, op: gpu.MmaLoadOp) -> None:
    """The elements of a fragment."""
    buffer, place = fragment_place(kernel, op, op.srcMemref, op.res.type)
    flat = place.reshape(*place.shape[:-2], -1)
    kernel.touch(op, Kind.READ, buffer, flat, True, True)
    kernel.values[op.res] = buffer.flat[place]


def mma_store(kernel: Kernel, op: gpu.MmaStoreOp) -> None:
    """The elements of a fragment, written by the first lane of the subgroup."""
    buffer, place = fragment_place(kernel, op, op.dstMemref, op.src.type)
    place = place.reshape(*place.shape[:-2], -1)
    values = np.asarray(kernel.value(op.src))
    values = values.reshape(*values.shape[:-2], -1)
    with kernel.where(kernel.thread % kernel.launch.subgroup == 0) as anywhere:
        if anywhere:
            kernel.touch(op, Kind.WRITE, buffer, place, True, True)
            kernel.write(buffer, place, values, True)


def mma_compute(kernel: Kernel, op: gpu.MmaComputeOp) -> None:
    """Products summed in the sum's type, rounded once."""
    a, b, c = (np.asarray(kernel.value(value)) for value in op.operands)
    wide = np.float64 if c.dtype.kind == "f" else np.int64
    with np.errstate(all="ignore"):
        total = np.matmul(a.astype(wide), b.astype(wide)) + c.astype(wide)
    kernel.values[op.res] = total.astype(c.dtype)


def mma_constant(kernel: Kernel, op: gpu.MmaConstantOp) -> None:
    """One value everywhere."""
    type_ = op.res.type
    assert isinstance(type_, gpu.MmaMatrixType)
    value = np.asarray(kernel.value(op.value))[..., None, None]
    kernel.values[op.res] = np.broadcast_to(value, (*value.shape[:-2], *type_.shape))


def _divide(a: Any, b: Any) -> Any:
    return np.trunc(a / b)


def _divide_unsigned(a: Any, b: Any) -> Any:
    return unsigned(a) // unsigned(b)


ELEMENTWISE: dict[gpu.Elementwise, Combine] = {
    gpu.Elementwise.AddF: np.add,
    gpu.Elementwise.MulF: np.multiply,
    gpu.Elementwise.SubF: np.subtract,
    gpu.Elementwise.MaxF: np.maximum,
    gpu.Elementwise.MinF: np.minimum,
    gpu.Elementwise.DivF: np.divide,
    gpu.Elementwise.AddI: np.add,
    gpu.Elementwise.MulI: np.multiply,
    gpu.Elementwise.SubI: np.subtract,
    gpu.Elementwise.DivS: _divide,
    gpu.Elementwise.DivU: _divide_unsigned,
    gpu.Elementwise.NegateF: np.negative,
    gpu.Elementwise.NegateS: np.negative,
    gpu.Elementwise.ExtF: np.asarray,
}


def mma_elementwise(kernel: Kernel, op: gpu.MmaElementwiseOp) -> None:
    """Each element by itself."""
    type_ = op.res.type
    assert isinstance(type_, gpu.MmaMatrixType)
    with np.errstate(all="ignore"):
        result = ELEMENTWISE[op.opType.data](*(kernel.value(value) for value in op.args))
    kernel.values[op.res] = as_type(result, type_.element_type)


RULES: Rules = {
    gpu.MmaLoadOp: mma_load,
    gpu.MmaStoreOp: mma_store,
    gpu.MmaComputeOp: mma_compute,
    gpu.MmaConstantOp: mma_constant,
    gpu.MmaElementwiseOp: mma_elementwise,
}
