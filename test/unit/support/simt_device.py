"""Runs modules of the gpu level as CUDA or Metal text whose threads are fibers of this CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from simt_metal import compile_metal
from simt_programs import Program, compile_cuda
from simt_runs import Fault, Launch, Memory, Part, launch
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.runtime.launch_plan import Copy, LaunchPlan
from nn_opt.runtime.launch_plan import Launch as Step

Array: TypeAlias = NDArray[Any]
COMPILERS = {"cuda": compile_cuda, "metal": compile_metal}


def run_on_fibers(module: ModuleOp, inputs: Sequence[Array], language: str) -> list[Array]:
    """Return what @main of a module at the gpu level computes, in two orders of threads.

    Races, accesses out of bounds and barriers that not all threads reach are faults.
    """
    source = print_kernels(module, language_named(language))
    plan, weights = plan_launches(module, source, signature_of(module))
    return run_twice(COMPILERS[language](source.text), plan, weights.content(), inputs)


def run_twice(
    program: Program, plan: LaunchPlan, weights: bytes, inputs: Sequence[Array]
) -> list[Array]:
    """Return the outputs of a plan; the order of threads must not matter."""
    # What nobody has written is no number.
    buffers = {b.name: np.full(max(b.size, 1), 0xFF, np.uint8) for b in plan.buffers}
    for buffer in plan.with_role("weights"):
        buffers[buffer.name] = np.frombuffer(weights, np.uint8)
    for buffer, array in zip(plan.with_role("input"), inputs, strict=True):
        given = np.ascontiguousarray(array, buffer.numpy_dtype)
        buffers[buffer.name] = given.reshape(-1).view(np.uint8)
    first = run_plan(program, plan, buffers, backwards=False)
    second = run_plan(program, plan, buffers, backwards=True)
    for buffer in plan.with_role("output"):
        if not np.array_equal(first[buffer.name], second[buffer.name]):
            raise Fault(f"{buffer.name} depends on the order of threads")
    return [
        first[buffer.name][: buffer.size].view(buffer.numpy_dtype).reshape(buffer.shape)
        for buffer in plan.with_role("output")
    ]


def run_plan(
    program: Program, plan: LaunchPlan, buffers: Mapping[str, Array], *, backwards: bool
) -> dict[str, Array]:
    """Return what the buffers hold after one run of a plan."""
    memory = Memory(program, buffers, at_end=not backwards)
    kernels = {kernel.name: kernel for kernel in plan.kernels}
    for buffer in (*plan.with_role("input"), *plan.with_role("weights")):
        memory.protect(buffer.name)
    try:
        for step, numbers in plan.run():
            if isinstance(step, Copy):
                source, target = (
                    memory.places[place.buffer] + place.at(numbers)
                    for place in (step.source, step.target)
                )
                ctypes.memmove(target, source, step.source.size)
            else:
                how = _launch(step, numbers, kernels[step.kernel])
                launch(program, how, memory, backwards=backwards, watched=not backwards)
        return memory.contents()
    finally:
        memory.close()


def _launch(step: Step, numbers: Sequence[int], kernel: Any) -> Launch:
    arguments = [Part(p.buffer, p.at(numbers), p.size) for p in step.arguments]
    return Launch(kernel.symbol, step.grid, kernel.block, arguments)
