"""From a module of the graph dialect to an artifact, through the pipeline `compile`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from nn_opt.backends.llvm import print_module as print_llvm
from nn_opt.backends.llvm.object import RefusedCode, emit_assembly, emit_object
from nn_opt.collector import quiet_collector
from nn_opt.conversion.to_llvm.functions import BEFORE, BEFORE_BYTES, BEFORE_OFFSETS
from nn_opt.crew import NO_CREW, Crew, crew_for
from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.functions import main_function
from nn_opt.ir.parsing import make_context
from nn_opt.ir.printing import print_module
from nn_opt.ir.resources import array_of, resource_of
from nn_opt.ir.target import DETERMINISTIC, Target, set_target, target_named
from nn_opt.ir.types import element_type, numpy_dtype, shape_of, tensor_type
from nn_opt.ir.verify import verify
from nn_opt.kernels import kernels_of
from nn_opt.passes.check_indices import ranges_of
from nn_opt.pipelines import COMPILE, expand, run_passes, scheduling_at_once, stages
from nn_opt.runtime.arguments import fits
from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.index_ranges import IndexRange
from nn_opt.runtime.manifest import Kernel, Manifest, Region, TensorInfo, dtype_named
from nn_opt.runtime.memory import Block
from nn_opt.runtime.weights import Pack, pack_weights

Progress = Callable[[str, int, int], None]  # what runs now, its number, how many there are
INFER = "infer-shapes"
OPTIMIZE, TO_LOOPS = "optimize-graph", "lower-to-loops"  # what all code begins with
TO_GPU = "lower-to-gpu"
SAME_BITS = ("x86_64", "aarch64")  # processors that round all sums and products alike

# The levels of `Model.ir`, each by the pass after which the module is printed.
LEVELS = {
    "graph": "fuse-ops",
    "kernels": "outline-kernels",
    "tensor": "convert-graph-to-tensor",
    "loop": "apply-schedule",
    "llvm": "convert-loop-to-llvm",
}
SOURCE_LEVEL = "source"  # before any pass
EMITTED = ("llvm-ir", "asm")  # after all of them


@dataclass(frozen=True)
class Lowered:
    """LLVM IR text, the weights it reads, and what the model says of itself."""

    manifest: Manifest
    text: str
    machine: Target
    arrays: Sequence[Any]
    offsets: Sequence[int]

    @cached_property
    def weights(self) -> Block:
        """One block with all weights, filled when it is first asked for."""
        return pack_weights(self.arrays, self.offsets, self.manifest.weight_bytes)


def build(
    module: ModuleOp,
    target: str,
    options: str = "",
    *,
    deterministic: bool = False,
    profile: bool = False,
    debug_info: bool = False,
    progress: Progress | None = None,
    pack: Pack = pack_weights,
) -> Artifact:
    """Compile a module, which is consumed; `options` are those of the pipeline.

    Raises: VerifyException, PassFailedException or DiagnosticError for what cannot be compiled.
    """
    run = partial(
        lower,
        module,
        target,
        options,
        deterministic=deterministic,
        debug_info=debug_info,
        progress=progress,
    )
    if profile:
        return _finished(run(profile=True), NO_CREW, pack)
    with crew_for(
        module, target, options, deterministic=deterministic, debug_info=debug_info
    ) as crew:
        return _finished(run(crew=crew), crew, pack)


def _finished(lowered: Lowered, crew: Crew, pack: Pack) -> Artifact:
    with ThreadPoolExecutor(1) as workers:  # while LLVM works, Python is free to pack weights
        code = workers.submit(_emit, lowered)
        weights = pack(lowered.arrays, lowered.offsets, lowered.manifest.weight_bytes)
    objects = [code.result(), *crew.objects()]
    manifest = replace(lowered.manifest, object_sizes=tuple(map(len, objects)))
    return Artifact(manifest, b"".join(objects), weights)


def _emit(lowered: Lowered) -> bytes:
    try:
        return emit_object(lowered.text, lowered.machine)
    except RefusedCode as error:
        stem = error.function.split(".par")[0]
        kernels = [kernel for kernel in lowered.manifest.kernels if kernel.name == stem]
        nodes = [node for kernel in kernels for node in kernel.nodes]
        if nodes:
            error.add_note(f"the model's nodes there: {', '.join(nodes)}")
        raise


def lower(
    module: ModuleOp,
    target: str,
    options: str = "",
    *,
    deterministic: bool = False,
    profile: bool = False,
    debug_info: bool = False,
    progress: Progress | None = None,
    crew: Crew = NO_CREW,
) -> Lowered:
    """Run all passes on a module, which is consumed, and write it as LLVM IR.

    Without what the helpers of a crew make machine code of, beside this process.
    """
    machine = target_named(target)
    plan = plan_of(machine, deterministic=deterministic)
    manifest = signature_of(module)
    assert manifest.is_static, "the sizes are bound before"
    verify(module)
    watch = Watch(progress)
    with quiet_collector():
        _lower(module, plan, watch, expand(COMPILE, options), crew)
        if profile:
            _lower(module, plan, Watch(None), expand("insert-timers"))
        watch.step("emit-object")
        text = print_llvm(module, debug_info=debug_info)
    arrays, offsets, size = weights_of(module)
    manifest = replace(
        manifest,
        arena_bytes=_integer(module, "nn.arena_bytes"),
        weight_bytes=size,
        target=target,
        cpu=machine.cpu,
        kernels=watch.kernels,
        arena_plan=arena_plan(module),
        index_ranges=watch.index_ranges,
    )
    return Lowered(manifest, text, machine, arrays, offsets)


def plan_of(machine: Target, *, deterministic: bool) -> Target:
    """Return what passes decide for: a machine, or the plan that all machines share.

    Raises: DiagnosticError for a machine whose arithmetic may differ in the last bit.
    """
    if not deterministic:
        return machine
    same = machine.architecture in SAME_BITS and machine.has_threads
    if not same or machine.gpu is not None:
        raise DiagnosticError(
            f"error: no deterministic code for target {machine.name!r}"
            f"\n  hint: bits are the same on Linux on {' and '.join(SAME_BITS)}"
        )
    return DETERMINISTIC


def lower_to_source(
    module: ModuleOp,
    target: str,
    options: str,
    pipeline: str,
    *,
    progress: Progress | None = None,
    deterministic: bool = False,
    debug_info: bool = False,
) -> Manifest:
    """Run all passes on a module up to a pipeline for source text; return what the model says.

    Such text has lines of its own, so `debug_info` adds nothing to it.
    """
    plan = plan_of(target_named(target), deterministic=deterministic)
    manifest = signature_of(module)
    verify(module)
    watch = Watch(progress)
    passes = [*expand(OPTIMIZE, options), *expand(TO_LOOPS), *expand(pipeline)]
    with quiet_collector():
        _lower(module, plan, watch, passes)
    plans: dict[str, Any] = {"arena_plan": arena_plan(module), "index_ranges": watch.index_ranges}
    return replace(manifest, target=target, cpu=plan.cpu, kernels=watch.kernels, **plans)


def level_text(
    module: ModuleOp,
    target: str,
    level: str,
    options: str = "",
    *,
    deterministic: bool = False,
    debug_info: bool = False,
) -> str:
    """Return the text at a level of LEVELS, after a pass, or as emitted; consumes the module.

    Raises: DiagnosticError for an unknown level.
    """
    machine = target_named(target)
    passes, levels, emitted = _levels(machine, options)
    names = [step.name for step in passes]
    last = levels.get(level, level)
    if level not in (SOURCE_LEVEL, *emitted) and last not in names:
        known = ", ".join([SOURCE_LEVEL, *levels, *emitted])
        raise DiagnosticError(
            f"error: no level {level!r}\n  hint: the levels are {known}; or name a pass"
        )
    if level == SOURCE_LEVEL:
        return print_module(module)
    count = len(names) if level in emitted else len(names) - names[::-1].index(last)
    with quiet_collector():
        _lower(module, plan_of(machine, deterministic=deterministic), Watch(None), passes[:count])
    if level == "llvm-ir":
        return print_llvm(module, debug_info=debug_info)
    if level == "asm":
        return emit_assembly(print_llvm(module, debug_info=debug_info), machine)
    if machine.gpu is not None and level == machine.gpu.language:
        return _kernels_text(module)
    return print_module(module)


def _levels(
    machine: Target, options: str
) -> tuple[list[ModulePass], dict[str, str], tuple[str, ...]]:
    """Return all passes for a machine, its levels, and what is emitted in the end."""
    if machine.gpu is None:
        return expand(COMPILE, options), LEVELS, EMITTED
    passes = [*expand(OPTIMIZE, options), *expand(TO_LOOPS), *expand(TO_GPU)]
    levels = {name: last for name, last in LEVELS.items() if name != "llvm"}
    return passes, {**levels, "gpu": "gpu-verify"}, (machine.gpu.language,)


def _kernels_text(module: ModuleOp) -> str:
    from nn_opt.backends.source.gpu_languages import language_of
    from nn_opt.backends.source.gpu_program import print_kernels

    return print_kernels(module, language_of(module)).text


def _lower(
    module: ModuleOp,
    plan: Target,
    watch: Watch,
    passes: Sequence[ModulePass],
    crew: Crew = NO_CREW,
) -> None:
    set_target(module, plan.name)
    watch.total = len(passes) + 1
    context, steps = make_context(), scheduling_at_once(passes)
    if crew is NO_CREW:
        run_passes(context, module, steps, [watch])
        return
    first, each, (planning, *last) = stages(steps)
    run_passes(context, module, first, [watch])
    crew.lower(module, lambda part: run_passes(context, part, each, [watch]))
    run_passes(context, module, [planning], [watch])
    crew.emit()
    run_passes(context, module, last, [watch])


@dataclass
class Watch(Instrument):
    """Reports progress, and keeps what passes lose: nodes of kernels, ranges of inputs."""

    progress: Progress | None
    total: int = 0
    number: int = 0
    kernels: tuple[Kernel, ...] = ()
    index_ranges: tuple[IndexRange, ...] = ()

    def step(self, name: str) -> None:
        """Say what begins now."""
        if self.progress is not None:
            self.progress(name, self.number, self.total)
        self.number += 1

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.step(step.name)

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if step.name == LEVELS["kernels"]:
            self.kernels = kernels_of(module)
            self.index_ranges = ranges_of(module)


def main_of(module: ModuleOp) -> FuncOp:
    """Return @main.

    Raises: DiagnosticError if there is none.
    """
    main = main_function(module)
    if main is None:
        raise DiagnosticError("error: the module has no func.func @main with a body")
    return main


def bind_shapes(module: ModuleOp, shapes: Mapping[str, Sequence[int]]) -> None:
    """Give inputs of @main these shapes by name, and what follows from them to all else.

    Raises: DiagnosticError for a name or shape that does not fit.
    """
    main = main_of(module)
    inputs = signature_of(module).inputs
    if unknown := set(shapes) - {info.name for info in inputs}:
        have = ", ".join(repr(info.name) for info in inputs) or "none"
        raise DiagnosticError(f"error: @main has no input {min(unknown)!r}; it has {have}")
    for info, argument in zip(inputs, main.args, strict=False):
        shape = tuple(shapes.get(info.name, shape_of(argument)))
        if len(shape) != len(info.shape or ()) or not fits(info.shape or (), shape):
            raise DiagnosticError(f"error: input {info} of @main cannot be {list(shape)}")
        if shape != shape_of(argument):
            type_ = tensor_type(shape, element_type(argument))
            Rewriter.replace_value_with_new_type(argument, type_)
    if not all(info.is_static for info in inputs):
        run_passes(make_context(), module, expand(INFER))


def signature_of(module: ModuleOp) -> Manifest:
    """Return the inputs and outputs that @main states; unknown sizes have names of their own."""
    main = main_of(module)
    inputs, outputs = main.function_type.inputs.data, main.function_type.outputs.data
    written = main.attributes.get("num_outputs")
    if isinstance(written, IntegerAttr):  # at the loop level, results are the last arguments
        count = len(inputs) - written.value.data
        inputs, outputs = inputs[:count], inputs[count:]
    return Manifest(_tensors(main, "arg", inputs), _tensors(main, "result", outputs))


def _tensors(main: FuncOp, kind: str, types: Sequence[Attribute]) -> tuple[TensorInfo, ...]:
    names = _strings(main, f"{kind}_names") or [f"{kind}{k}" for k in range(len(types))]
    dtypes = _strings(main, f"{kind}_dtypes")
    infos: list[TensorInfo] = []
    for k, type_ in enumerate(types):
        sizes = enumerate(shape_of(type_))
        shape = tuple(f"{names[k]}.{axis}" if size == -1 else size for axis, size in sizes)
        dtype = dtype_named(dtypes[k]) if dtypes else numpy_dtype(element_type(type_))
        infos.append(TensorInfo(names[k], shape, dtype))
    return tuple(infos)


def _strings(main: FuncOp, key: str) -> list[str]:
    match main.attributes.get(key):
        case ArrayAttr(data=data):
            return [name.data for name in data if isinstance(name, StringAttr)]
        case _:
            return []


def weights_of(module: ModuleOp) -> tuple[list[Any], list[int], int]:
    """Take the weights out of a lowered module: the arrays, their offsets and size as one block."""
    module.attributes.pop(BEFORE, None)
    match module.attributes.pop("nn.weights", None), module.attributes.get("nn.weight_offsets"):
        case ArrayAttr(data=weights), DenseArrayBase() as places:
            offsets: list[int] = np.frombuffer(places.data.data, np.int64).tolist()
            arrays = [array_of(weight, getattr(weight, "type", weight)) for weight in weights]
        case _:
            return [], [], 0
    ends = [at + array.nbytes for at, array in zip(offsets, arrays, strict=True)]
    return arrays, offsets, -(-max(ends, default=0) // 64) * 64


def follow(module: ModuleOp, first: Lowered) -> None:
    """Let the code of a module, which is not lowered yet, share the weights of other code.

    The weights that it will have are those of the other code, in their places, and more.
    """
    arrays = ArrayAttr([resource_of(array) for array in first.arrays])
    module.attributes[BEFORE] = arrays
    module.attributes[BEFORE_OFFSETS] = DenseArrayBase.from_list(i64, first.offsets)
    module.attributes[BEFORE_BYTES] = IntegerAttr(first.manifest.weight_bytes, i64)


def arena_plan(module: ModuleOp) -> tuple[Region, ...]:
    """Return where each temporary lies in the arena, as plan-memory noted it."""
    match module.attributes.get("nn.arena_plan"):
        case ArrayAttr(data=entries):
            return tuple(_region(entry) for entry in entries if isinstance(entry, DictionaryAttr))
        case _:
            return ()


def _region(entry: DictionaryAttr) -> Region:
    name = entry.data["buffer"]
    numbers = {
        key: value.value.data for key, value in entry.data.items() if isinstance(value, IntegerAttr)
    }
    return Region(name.data if isinstance(name, StringAttr) else "", **numbers)


def _integer(module: ModuleOp, key: str) -> int:
    value = module.attributes.get(key)
    return value.value.data if isinstance(value, IntegerAttr) else 0
