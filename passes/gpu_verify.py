"""gpu-verify: what a device would refuse, or do wrong, is found before any driver sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import gpu, loop
from nn_opt.ir.diagnostics import Complaints, Diagnostic, diagnose
from nn_opt.ir.target import Gpu, target_of
from nn_opt.ir.types import memory_space
from nn_opt.passes.kernel_bounds import Bounds
from nn_opt.passes.kernel_divergence import Divergence
from nn_opt.passes.kernel_values import Values

OF_THREADS = (gpu.SHARED, "stack", "register")  # where a kernel may allocate
OF_THE_HOST = (loop.CopyOp, loop.ArenaOp)


@dataclass(frozen=True)
class GpuVerifyPass(ModulePass):
    """Kernels stay within the limits of their device; their threads meet, and stay in buffers.

    Checked are the limits of `gpu.limits`, else of the target: threads, blocks, shared memory,
    buffers, subgroups; that barriers are in no control flow that depends on the thread, nor what a
    subgroup does together where its threads differ; that no access is surely outside of its buffer;
    that launches pass buffers of the device. Races are for insert-barriers.

    Needs: gpu. Keeps: gpu. Order: last, before code is printed.
    """

    name: ClassVar[str] = "gpu-verify"  # pyright: ignore[reportIncompatibleVariableOverride]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        problems = [*_problems(op)]
        if problems:
            raise PassFailedException(Complaints(problems))


def _problems(module: ModuleOp) -> Iterator[Diagnostic]:
    device = target_of(module).gpu
    for op in module.walk():
        if isinstance(op, gpu.ModuleOp):
            for kernel in op.functions:
                yield from _of_kernel(kernel, op.limits, device)
        elif isinstance(op, gpu.LaunchFuncOp):
            yield from _of_launch(op)


def _of_kernel(kernel: gpu.FuncOp, own: Gpu | None, device: Gpu | None) -> Iterator[Diagnostic]:
    if own is None and device is not None:  # what the verifier has not seen
        yield from kernel.demand.problems(device)
    if gpu.LOCKSTEP in kernel.attributes:
        problem = "no barriers have been inserted yet"
        yield diagnose(kernel, problem, hint="run --insert-barriers first")
    limits = own or device
    values = Values(kernel)
    yield from _misplaced(kernel)
    yield from Divergence(kernel, values, limits.subgroup if limits else 0).problems()
    yield from Bounds(kernel, values).problems()


def _misplaced(kernel: gpu.FuncOp) -> Iterator[Diagnostic]:
    for op in kernel.walk():
        if isinstance(op, OF_THE_HOST):
            yield diagnose(op, "is for the host, not for a thread", hint="move it to the host")
        if isinstance(op, loop.AllocOp) and memory_space(op.result) not in OF_THREADS:
            problem = f"a thread allocates {memory_space(op.result)} memory"
            hint = f"allocate it on the host, or say one of {', '.join(OF_THREADS)}"
            yield diagnose(op, problem, hint=hint)


def _of_launch(launch: gpu.LaunchFuncOp) -> Iterator[Diagnostic]:
    for number, value in enumerate(launch.arguments):
        if isinstance(value.type, MemRefType) and memory_space(value) != "global":
            problem = (
                f"argument #{number} is in {memory_space(value)} memory, "
                "which is the host's own; expected global memory"
            )
            hint = "the device sees global buffers alone: allocate it there"
            yield diagnose(launch, problem, hint=hint)
