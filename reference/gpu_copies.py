"""Asynchronous copies: read where they begin, written where their thread waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nn_opt.dialects import gpu
from nn_opt.reference.gpu_kernel import Kernel, Rules
from nn_opt.reference.gpu_shadow import Kind, Touch
from nn_opt.reference.places import Buffer, Index, locate


@dataclass
class Copy:
    """One copy that has begun: for each lane the place, the values, and its thread's group."""

    op: gpu.AsyncCopyOp
    buffer: Buffer
    lanes: Any
    place: Any
    values: Any
    group: Any  # by block and thread; -1: not committed
    waiting: Any  # by block and thread: whether it takes part and has not been waited for


@dataclass
class Copies:
    """The copies under way, and how many groups each thread has committed."""

    begun: list[Copy] = field(default_factory=list[Copy])
    groups: Any = None


def copies_of(kernel: Kernel) -> Copies:
    """Return the copies of a kernel's threads."""
    if kernel.copies is None:
        kernel.copies = Copies([], np.zeros(tuple(kernel.sizes[:2]), np.int64))
    return kernel.copies


def coming(kernel: Kernel) -> Any:
    """Return which threads are active, by block and thread."""
    return kernel.mask_of_threads.any(axis=2)


def async_copy(kernel: Kernel, op: gpu.AsyncCopyOp) -> None:
    """Read now; write where the thread waits."""
    source, target = kernel.buffer(op.source), kernel.buffer(op.target)
    vector = (op.elements, 1)
    read = kernel.indices(op, "source_map", op.source_indices)
    values = kernel.read(op, source, read, None, vector)
    written = kernel.indices(op, "target_map", op.target_indices)
    place, inside = locate(target, written, vector, each=False)
    kernel.require_inside(op, target, written, inside, True)
    begin(kernel, op, target, place)
    copies = copies_of(kernel)
    came = coming(kernel)
    group = np.full(came.shape, -1, np.int64)
    copies.begun.append(Copy(op, target, kernel.mask, place, values, group, came.copy()))


def begin(kernel: Kernel, op: gpu.AsyncCopyOp, target: Buffer, place: Index) -> None:
    """Record that elements are being copied to."""
    memory = kernel.memory(target)
    if memory is None or kernel.launch.lockstep:
        return
    lanes = kernel.lanes(place, True, True, memory)
    touch = Touch(op, lanes.cells, lanes.threads, lanes.epochs)
    conflict = memory.shadow.fly(touch)
    if conflict is not None:
        raise kernel.race(op, Kind.WRITE, target, memory, lanes, conflict)


def async_commit(kernel: Kernel, op: gpu.AsyncCommitOp) -> None:
    """The threads' copies since the last time are a group."""
    copies, came = copies_of(kernel), coming(kernel)
    for copy in copies.begun:
        copy.group = np.where(came & (copy.group < 0), copies.groups, copy.group)
    copies.groups = copies.groups + came


def async_wait(kernel: Kernel, op: gpu.AsyncWaitOp) -> None:
    """End the copies of all of the threads' groups but the last ones."""
    copies, came = copies_of(kernel), coming(kernel)
    last = copies.groups - op.pending.value.data
    for copy in copies.begun:
        ends = copy.waiting & came & (copy.group >= 0) & (copy.group < last)
        if np.any(ends):
            end(kernel, copy, ends)
            copy.waiting = copy.waiting & ~ends
    copies.begun = [copy for copy in copies.begun if np.any(copy.waiting)]


def end(kernel: Kernel, copy: Copy, ends: Any) -> None:
    """Write what some threads copied."""
    mask = ends.reshape(*ends.shape, *[1] * (len(kernel.sizes) - 2))
    if copy.lanes is not None:
        mask = np.logical_and(mask, copy.lanes)
    place, values, lanes = np.broadcast_arrays(copy.place, copy.values, mask[..., None])
    copy.buffer.flat[place[lanes]] = values[lanes]
    memory = kernel.memory(copy.buffer)
    if memory is None or kernel.launch.lockstep:
        return
    before, kernel.mask = kernel.mask, mask
    touched = kernel.lanes(copy.place, True, True, memory)
    kernel.mask = before
    memory.shadow.land(Touch(copy.op, touched.cells, touched.threads, touched.epochs))


RULES: Rules = {
    gpu.AsyncCopyOp: async_copy,
    gpu.AsyncCommitOp: async_commit,
    gpu.AsyncWaitOp: async_wait,
}
