"""What the threads of a subgroup, or of a block, do together without memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from nn_opt.dialects import gpu
from nn_opt.ir.diagnostics import complaint, diagnose
from nn_opt.ir.types import is_vector
from nn_opt.reference.gpu_errors import divergence_notes, error_of
from nn_opt.reference.gpu_kernel import Kernel, Rules
from nn_opt.reference.scalars import as_type, unsigned

Combine = Callable[..., Any]
REDUCTIONS: dict[gpu.Reduction, Combine] = {
    gpu.Reduction.Add: np.add,
    gpu.Reduction.Mul: np.multiply,
    gpu.Reduction.MinUI: np.minimum,
    gpu.Reduction.MinSI: np.minimum,
    gpu.Reduction.MinNumF: np.fmin,
    gpu.Reduction.MaxUI: np.maximum,
    gpu.Reduction.MaxSI: np.maximum,
    gpu.Reduction.MaxNumF: np.fmax,
    gpu.Reduction.And: np.bitwise_and,
    gpu.Reduction.Or: np.bitwise_or,
    gpu.Reduction.Xor: np.bitwise_xor,
    gpu.Reduction.MinimumF: np.minimum,
    gpu.Reduction.MaximumF: np.maximum,
}
UNSIGNED = {gpu.Reduction.MinUI, gpu.Reduction.MaxUI}


def width_of(kernel: Kernel, op: Operation) -> int:
    """Return the number of threads of a subgroup, if all of them come to the op."""
    width = kernel.launch.subgroup
    if not width:
        problem = "the number of threads of a subgroup is not known"
        hint = "give the gpu.module the limits of a device that has subgroups"
        raise InterpretationError(complaint(op, problem, hint=hint))
    came = kernel.mask_of_threads.all(axis=2)
    whole = -(-came.shape[1] // width) * width
    padded = np.pad(came, ((0, 0), (0, whole - came.shape[1])))
    groups = padded.reshape(-1, width)
    partial = groups.any(axis=1) & ~groups.all(axis=1)
    if np.any(partial):
        count = int(groups[np.flatnonzero(partial)[0]].sum())
        problem = f"{count} of the {width} threads of a subgroup come here, expected all"
        raise error_of(diagnose(op, problem, notes=divergence_notes(op)))
    return width


def full(kernel: Kernel, value: Any, tail: int = 0) -> Any:
    """Return a value with one element for each block and thread; `tail` axes are its own."""
    array = np.asarray(value)
    own = array.shape[array.ndim - tail :]
    lanes = array.shape[: array.ndim - tail] or (1,) * len(kernel.sizes)
    return np.broadcast_to(array, (*kernel.sizes[:2], *lanes[2:], *own))


def taken(kernel: Kernel, value: Any, sources: Any, tail: int = 0) -> Any:
    """Return each thread's element of the thread that `sources` names."""
    array = full(kernel, value, tail)
    index = np.asarray(sources)
    index = index.reshape(*index.shape, *[1] * (array.ndim - index.ndim))
    shape = np.broadcast_shapes(index.shape, (*kernel.sizes[:2], *[1] * (array.ndim - 2)))
    index = np.broadcast_to(index, shape)
    lead = np.broadcast_shapes(array.shape[2:], index.shape[2:])
    array = np.broadcast_to(array, (*array.shape[:2], *lead))
    return np.take_along_axis(array, np.broadcast_to(index, (*index.shape[:2], *lead)), axis=1)


def own_axes(value: SSAValue) -> int:
    """Return the number of axes that an element itself has."""
    return 1 if is_vector(value.type) else 0


def shuffle(kernel: Kernel, op: gpu.ShuffleOp) -> None:
    """Each lane's value of another lane."""
    width = width_of(kernel, op)
    offset, group = np.asarray(kernel.value(op.offset)), np.asarray(kernel.value(op.width))
    lane = kernel.thread % width
    first = lane // group * group
    source = {
        gpu.ShuffleMode.Xor: lane ^ offset,
        gpu.ShuffleMode.Up: lane - offset,
        gpu.ShuffleMode.Down: lane + offset,
        gpu.ShuffleMode.Idx: first + offset,
    }[op.mode.data]
    valid = (source >= first) & (source < np.minimum(first + group, width))
    move(kernel, op, kernel.thread - lane + np.where(valid, source, lane), valid)


def rotate(kernel: Kernel, op: gpu.RotateOp) -> None:
    """Each lane's value of a lane further on, around its group."""
    width, group = width_of(kernel, op), op.width.value.data
    lane = kernel.thread % width
    first = lane // group * group
    source = first + (lane - first + op.offset.value.data) % group
    move(kernel, op, kernel.thread - lane + source, np.full(np.shape(source), True))


def move(kernel: Kernel, op: gpu.ShuffleOp | gpu.RotateOp, sources: Any, valid: Any) -> None:
    """Give each thread the value of the thread that `sources` names."""
    value = kernel.value(op.value)
    kernel.values[op.result] = taken(kernel, value, sources, own_axes(op.value))
    kernel.values[op.valid] = valid


def broadcast(kernel: Kernel, op: gpu.SubgroupBroadcastOp) -> None:
    """One lane's value, in all lanes."""
    width = width_of(kernel, op)
    lane = 0 if op.lane is None else np.asarray(kernel.value(op.lane))
    sources = kernel.thread // width * width + lane
    value = kernel.value(op.src)
    kernel.values[op.result] = taken(kernel, value, sources, own_axes(op.src))


def ballot(kernel: Kernel, op: gpu.BallotOp) -> None:
    """A bit for each lane."""
    width = width_of(kernel, op)
    holds = full(kernel, kernel.value(op.predicate))
    lane = kernel.thread % width
    bits = np.where(holds, np.left_shift(np.uint64(1), lane.astype(np.uint64)), np.uint64(0))
    type_ = op.result.type
    assert isinstance(type_, IntegerType)
    total = _by_group(bits, width, 1, width, np.bitwise_or)
    kernel.values[op.result] = total.astype(f"u{type_.width.data // 8}").view(
        f"i{type_.width.data // 8}"
    )


def subgroup_reduce(kernel: Kernel, op: gpu.SubgroupReduceOp) -> None:
    """The values of all lanes combined, in every lane."""
    width = width_of(kernel, op)
    value = full(kernel, kernel.value(op.value), own_axes(op.value))
    size, stride = op.size or width, op.stride
    combine = REDUCTIONS[op.op.data]
    total = _reduced(value, op.op.data, _groups(size, stride, width, combine))
    kernel.values[op.result] = as_type(total, op.result.type)


def _reduced(value: Any, kind: gpu.Reduction, combine: Combine) -> Any:
    with np.errstate(all="ignore"):
        if kind not in UNSIGNED:
            return combine(value)
        return combine(unsigned(value)).view(value.dtype)


def _groups(size: int, stride: int, width: int, combine: Combine) -> Combine:
    def reduce(values: Any) -> Any:
        return _by_group(values, size, stride, width, combine)

    return reduce


def _whole(combine: Any) -> Combine:
    def reduce(values: Any) -> Any:
        return combine.reduce(values, axis=1, keepdims=True)

    return reduce


def _by_group(values: Any, size: int, stride: int, width: int, combine: Any) -> Any:
    """Combine `size` lanes `stride` apart, in each subgroup, in each of these lanes."""
    blocks, threads, *rest = values.shape
    shape = blocks, threads // width, width // (size * stride), size, stride, *rest
    grouped = values.reshape(shape)
    total = combine.reduce(grouped, axis=3, keepdims=True)
    return np.broadcast_to(total, grouped.shape).reshape(values.shape)


def all_reduce(kernel: Kernel, op: gpu.AllReduceOp) -> None:
    """The values of all threads of a block combined, in every thread; they meet there."""
    if op.op is None:
        hint = "name a kind, such as add"
        raise InterpretationError(complaint(op, "combines by a body", hint=hint))
    kernel.run_barrier(op)
    value = full(kernel, kernel.value(op.value), own_axes(op.value))
    combine: Any = REDUCTIONS[op.op.data]
    total = _reduced(value, op.op.data, _whole(combine))
    kernel.values[op.result] = as_type(np.broadcast_to(total, value.shape), op.result.type)


def lane_number(kernel: Kernel, op: gpu.InSubgroup) -> None:
    """Numbers about subgroups."""
    width = kernel.launch.subgroup or width_of(kernel, op)
    numbers: dict[type[gpu.InSubgroup], Any] = {
        gpu.LaneIdOp: kernel.thread % width,
        gpu.SubgroupIdOp: kernel.thread // width,
        gpu.NumSubgroupsOp: -(-kernel.launch.threads // width),
        gpu.SubgroupSizeOp: width,
    }
    kernel.values[op.result] = numbers[type(op)]


RULES: Rules = {
    gpu.ShuffleOp: shuffle,
    gpu.RotateOp: rotate,
    gpu.SubgroupBroadcastOp: broadcast,
    gpu.BallotOp: ballot,
    gpu.SubgroupReduceOp: subgroup_reduce,
    gpu.AllReduceOp: all_reduce,
    gpu.LaneIdOp: lane_number,
    gpu.SubgroupIdOp: lane_number,
    gpu.NumSubgroupsOp: lane_number,
    gpu.SubgroupSizeOp: lane_number,
}
