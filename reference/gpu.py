"""gpu: launches run their kernels; the device's memory is the host's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.gpu import LaunchOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import InterpretationError

from nn_opt.dialects import gpu
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.resources import Array
from nn_opt.ir.target import target_around
from nn_opt.ir.types import shape_of
from nn_opt.reference import gpu_atomics, gpu_copies, gpu_fragments, gpu_subgroups
from nn_opt.reference.gpu_errors import Triple
from nn_opt.reference.gpu_kernel import KERNEL_RULES, Kernel, Launch
from nn_opt.reference.gpu_shadow import Shadow
from nn_opt.reference.independence import Independence
from nn_opt.reference.places import Buffer, Maps, buffer_of, unwritten

for _rules in (gpu_subgroups, gpu_atomics, gpu_copies, gpu_fragments):
    KERNEL_RULES.update(_rules.RULES)

MOST_THREADS = 1 << 15  # that run at once, where blocks have fewer
MOST_SHARED = 1 << 22  # bytes of shared memory at once


@register_impls
class GpuFunctions(InterpreterFunctions):
    """What the host does; keeps what it found out about each kernel between launches."""

    def __init__(self) -> None:
        self.facts: dict[gpu.FuncOp, Independence] = {}
        self.maps: Maps = {}

    @impl(gpu.LaunchFuncOp)
    def launch(
        self, interpreter: Interpreter, op: gpu.LaunchFuncOp, args: PythonValues
    ) -> PythonValues:
        kernel = op.callee
        assert kernel is not None, "a verified launch has a kernel"
        given = dict(zip(op.operands, args, strict=True))  # of a nest's values, some are buffers
        grid, block = _sizes(given, op.grid), _sizes(given, op.block)
        arguments = [_buffer(given[value]) for value in op.arguments]
        launch = Launch(kernel, grid, block, subgroup_of(kernel))
        _Run(interpreter, launch, self.facts_of(kernel), self.maps, arguments).run()
        return (None,) * len(op.results)

    def facts_of(self, kernel: gpu.FuncOp) -> Independence:
        """Return which loops of a kernel may run at once."""
        if kernel not in self.facts:
            self.facts[kernel] = Independence(kernel)
        return self.facts[kernel]

    @impl(gpu.AllocOp)
    def alloc(self, interpreter: Interpreter, op: gpu.AllocOp, args: PythonValues) -> PythonValues:
        type_ = op.result.type
        assert isinstance(type_, MemRefType)
        sizes = iter(args[len(op.asyncDependencies) :])
        shape = [next(sizes) if size == -1 else size for size in shape_of(type_)]
        array = unwritten(math.prod(shape), type_).reshape(shape)
        return (array, *(None for _ in op.results[1:]))

    @impl(gpu.DeallocOp)
    def dealloc(
        self, interpreter: Interpreter, op: gpu.DeallocOp, args: PythonValues
    ) -> PythonValues:
        return (None,) * len(op.results)

    @impl(gpu.WaitOp)
    def wait(self, interpreter: Interpreter, op: gpu.WaitOp, args: PythonValues) -> PythonValues:
        return (None,) * len(op.results)

    @impl(gpu.MemcpyOp)
    def copy(self, interpreter: Interpreter, op: gpu.MemcpyOp, args: PythonValues) -> PythonValues:
        target, source = (_buffer(value).array() for value in args[-2:])
        target[...] = source
        return (None,) * len(op.results)

    @impl(LaunchOp)
    def inline(self, interpreter: Interpreter, op: LaunchOp, args: PythonValues) -> PythonValues:
        hint = "put the body into a gpu.func first, as mlir-opt --gpu-kernel-outlining does"
        raise InterpretationError(complaint(op, "a kernel that has no function", hint=hint))


def subgroup_of(kernel: gpu.FuncOp) -> int:
    """Return the number of threads of a subgroup, as the module or the target says."""
    module = kernel.parent_op()
    if isinstance(module, gpu.ModuleOp) and module.limits is not None:
        return module.limits.subgroup
    device = target_around(kernel).gpu
    return device.subgroup if device is not None else 0


def _sizes(given: Mapping[SSAValue, Any], values: Sequence[SSAValue]) -> Triple:
    x, y, z = (int(given[value]) for value in values)
    return x, y, z


def _buffer(value: Any) -> Any:
    return buffer_of(cast(Array, value)) if isinstance(value, np.ndarray) else value


@dataclass
class _Run:
    """One launch: its blocks, some at a time."""

    interpreter: Interpreter
    launch: Launch
    facts: Independence
    maps: Maps
    arguments: list[Any]

    def run(self) -> None:
        self.watch()
        count, threads = math.prod(self.launch.grid), self.launch.threads
        shared = max(1, self.launch.kernel.shared_bytes)
        step = max(1, min(MOST_THREADS // max(threads, 1), MOST_SHARED // shared))
        for first in range(0, count, step):
            self.run_blocks(np.arange(first, min(first + step, count)))

    def run_blocks(self, blocks: Any) -> None:
        kernel = Kernel(self.interpreter, self.facts, self.maps, launch=self.launch, blocks=blocks)
        kernel.begin(self.arguments)
        twins = kernel.twins()
        if twins:
            kernel.facts = Independence(self.launch.kernel, twins)
        kernel.together = twins is not None
        kernel.run_kernel()

    def watch(self) -> None:
        """Record who touches the buffers that the kernel writes, and all that overlap them."""
        pairs = zip(self.launch.kernel.arguments, self.arguments, strict=True)
        spans = [
            Span.of(buffer, argument in self.facts.stored)
            for argument, buffer in pairs
            if isinstance(buffer, Buffer)
        ]
        for span in joined(sorted(spans, key=lambda span: span.start)):
            if span.written:
                size = (span.end - span.start) // span.unit
                self.launch.shadows[span.start] = Shadow(size, span.unit, self.launch.threads)


@dataclass(frozen=True)
class Span:
    """Memory that arguments of a kernel are in: addresses, and the bytes of the least element."""

    start: int
    end: int
    unit: int
    written: bool

    @staticmethod
    def of(buffer: Buffer, written: bool) -> Span:
        """Return where a buffer is."""
        start = buffer.flat.__array_interface__["data"][0]
        return Span(start, start + buffer.flat.nbytes, buffer.flat.itemsize, written)


def joined(spans: Sequence[Span]) -> list[Span]:
    """Return spans, in order of their starts, of which those are one that overlap."""
    found: list[Span] = []
    for span in spans:
        if found and span.start < found[-1].end:
            last = found.pop()
            unit = math.gcd(last.unit, span.unit, span.start - last.start)
            span = Span(last.start, max(last.end, span.end), unit, last.written or span.written)
        found.append(span)
    return found


FUNCTIONS: list[type[InterpreterFunctions]] = [GpuFunctions]
