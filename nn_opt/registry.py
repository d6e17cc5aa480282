"""The table of passes: a flag and where its class lives, imported when it is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module

from xdsl.passes import ModulePass

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.plugins import installed, load_installed

PASSES = {
    "infer-shapes": "nn_opt.passes.infer_shapes:InferShapesPass",
    "canonicalize": "nn_opt.passes.canonicalize:CanonicalizePass",
    "recognize-int8": "nn_opt.passes.recognize_int8:RecognizeInt8Pass",
    "recognize-block-weights": ("nn_opt.passes.recognize_block_weights:RecognizeBlockWeightsPass"),
    "fold-constants": "nn_opt.passes.fold_constants:FoldConstantsPass",
    "check-indices": "nn_opt.passes.check_indices:CheckIndicesPass",
    "simplify-scans": "nn_opt.passes.simplify_scans:SimplifyScansPass",
    "simplify-inference": "nn_opt.passes.simplify_inference:SimplifyInferencePass",
    "recognize-gelu": "nn_opt.passes.recognize_gelu:RecognizeGeluPass",
    "combine-products": "nn_opt.passes.combine_products:CombineProductsPass",
    "fold-scale-axis": "nn_opt.passes.fold_scale_axis:FoldScaleAxisPass",
    "cse": "nn_opt.passes.cse:CsePass",
    "dce": "nn_opt.passes.dce:DcePass",
    "unfold-conv-transpose": "nn_opt.passes.unfold_conv_transpose:UnfoldConvTransposePass",
    "widen-products": "nn_opt.passes.widen_products:WidenProductsPass",
    "unsqueeze-windows": "nn_opt.passes.unsqueeze_windows:UnsqueezeWindowsPass",
    "pack-matmuls": "nn_opt.passes.pack_matmuls:PackMatmulsPass",
    "choose-layout": "nn_opt.passes.choose_layout:ChooseLayoutPass",
    "lower-precision": "nn_opt.passes.lower_precision:LowerPrecisionPass",
    "choose-convolution": "nn_opt.passes.choose_convolution:ChooseConvolutionPass",
    "fuse-ops": "nn_opt.passes.fuse_ops:FuseOpsPass",
    "keep-wide": "nn_opt.passes.keep_wide:KeepWidePass",
    "stream-softmax": "nn_opt.passes.stream_softmax:StreamSoftmaxPass",
    "outline-kernels": "nn_opt.passes.outline_kernels:OutlineKernelsPass",
    "convert-graph-to-tensor": "nn_opt.conversion.graph_to_tensor:ConvertGraphToTensorPass",
    "convert-tensor-to-loop": "nn_opt.conversion.tensor_to_loop:ConvertTensorToLoopPass",
    "default-schedules": "nn_opt.passes.default_schedules:DefaultSchedulesPass",
    "apply-schedule": "nn_opt.passes.apply_schedule:ApplySchedulePass",
    "alternate-scans": "nn_opt.passes.alternate_scans:AlternateScansPass",
    "lower-blocks": "nn_opt.passes.lower_blocks:LowerBlocksPass",
    "flatten-accesses": "nn_opt.passes.flatten_accesses:FlattenAccessesPass",
    "partition-loops": "nn_opt.passes.partition_loops:PartitionLoopsPass",
    "compact-buffers": "nn_opt.passes.compact_buffers:CompactBuffersPass",
    "tensorize-loops": "nn_opt.passes.tensorize_loops:TensorizeLoopsPass",
    "vectorize-loops": "nn_opt.passes.vectorize_loops:VectorizeLoopsPass",
    "reuse-loads": "nn_opt.passes.reuse_loads:ReuseLoadsPass",
    "unroll-loops": "nn_opt.passes.unroll_loops:UnrollLoopsPass",
    "expand-math": "nn_opt.passes.expand_math:ExpandMathPass",
    "plan-memory": "nn_opt.passes.plan_memory:PlanMemoryPass",
    "convert-loop-to-llvm": "nn_opt.conversion.loop_to_llvm:ConvertLoopToLlvmPass",
    "lower-thread-reductions": "nn_opt.passes.lower_thread_reductions:LowerThreadReductionsPass",
    "convert-loop-to-gpu": "nn_opt.conversion.loop_to_gpu:ConvertLoopToGpuPass",
    "insert-barriers": "nn_opt.passes.insert_barriers:InsertBarriersPass",
    "convert-gpu-to-llvm": "nn_opt.conversion.gpu_to_llvm:ConvertGpuToLlvmPass",
    "gpu-verify": "nn_opt.passes.gpu_verify:GpuVerifyPass",
    "insert-timers": "nn_opt.passes.insert_timers:InsertTimersPass",
    "convert-loop-to-scf": "nn_opt.conversion.loop_to_scf:ConvertLoopToScfPass",
    "apply-pdl": "nn_opt.passes.apply_pdl:ApplyPdlPass",
}

# What looks at one function at a time, so that func.func(...) may hold it.
FUNCTION_PASSES = frozenset(
    {
        "infer-shapes",
        "canonicalize",
        "recognize-int8",
        "recognize-block-weights",
        "fold-constants",
        "check-indices",
        "simplify-scans",
        "simplify-inference",
        "recognize-gelu",
        "combine-products",
        "widen-products",
        "fold-scale-axis",
        "cse",
        "dce",
        "unfold-conv-transpose",
        "unsqueeze-windows",
        "pack-matmuls",
        "choose-layout",
        "lower-precision",
        "choose-convolution",
        "fuse-ops",
        "keep-wide",
        "stream-softmax",
        "convert-graph-to-tensor",
        "convert-tensor-to-loop",
        "lower-thread-reductions",
        "lower-blocks",
        "flatten-accesses",
        "partition-loops",
        "compact-buffers",
        "tensorize-loops",
        "vectorize-loops",
        "unroll-loops",
        "expand-math",
        "apply-pdl",
    }
)


# What others have registered: their classes, and where each comes from.
_classes: dict[str, type[ModulePass]] = {}
SOURCES: dict[str, str] = {}

GROUP = "nn_opt.passes"
XDSL = "xdsl-"  # names of xDSL's own passes begin so; nn_opt.xdsl_passes has them
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def load_pass(name: str) -> type[ModulePass]:
    """Return the class of a pass; KeyError for a name without a row.

    Raises: DiagnosticError if an installed package names a class that it does not have.
    """
    if name in _classes:
        return _classes[name]
    if name not in PASSES and name.startswith(XDSL):
        from nn_opt import xdsl_passes

        return xdsl_passes.load(name)
    module, _, attribute = PASSES[name].partition(":")
    if name not in SOURCES:
        return getattr(import_module(module), attribute)
    what = f"pass '{name}' of {SOURCES[name]}"
    cls = _classes[name] = load_installed(what, PASSES[name], ModulePass)
    if cls.name != name:
        raise DiagnosticError(f"error: {what}: {PASSES[name]} calls itself '{cls.name}'")
    return cls


def is_pass(name: str) -> bool:
    """Return whether there is a pass of this name; installed packages are asked last."""
    return has_row(name) or (discover() and name in PASSES)


def has_row(name: str) -> bool:
    """Return whether there is a pass of this name here or in xDSL."""
    if name in PASSES or not name.startswith(XDSL):
        return name in PASSES
    from nn_opt import xdsl_passes

    return xdsl_passes.has_pass(name)


def names_like(name: str) -> list[str]:
    """Return the names of passes that somebody may have meant: xDSL's if it begins like them."""
    if not name.removeprefix("--").startswith(XDSL[:-1]):
        return list(PASSES)
    from nn_opt import xdsl_passes

    return [*PASSES, *xdsl_passes.names()]


def runs_on_functions(name: str) -> bool:
    """Return whether a pass looks at one function at a time."""
    if name in FUNCTION_PASSES:
        return True
    return name in SOURCES and getattr(load_pass(name), "runs_on_functions", False)


def check_name(name: object) -> str:
    """Return the name of a pass or pipeline.

    Raises: DiagnosticError if it can be no flag.
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    hint = "small letters and digits in words joined by '-', as in fuse-ops"
    raise DiagnosticError(f"error: {name!r} is no name of a pass\n  hint: {hint}")


def register(cls: type[ModulePass], source: str, taken: Mapping[str, str]) -> None:
    """Add a pass; a definition that is run again, as in a notebook, takes the place of its first.

    source: where it comes from, for lists.
    taken: names that are no passes, and whose they are.
    Raises: DiagnosticError for a name that is taken, or is no name.
    """
    name = check_name(getattr(cls, "name", None))
    row = f"{cls.__module__}:{cls.__qualname__}"
    if name in taken:
        raise DiagnosticError(f"error: there is a pipeline --{name} already, of {taken[name]}")
    ours = name in PASSES and name not in SOURCES
    if ours or PASSES.get(name, row) != row:
        owner = SOURCES.get(name, "nn-opt")
        raise DiagnosticError(f"error: there is a pass --{name} already, of {owner}")
    PASSES[name] = row
    _classes[name] = cls
    SOURCES[name] = source


def discover() -> bool:
    """Add the passes of installed packages; return whether there are any new ones.

    That takes 50 ms: ask only for a name that is not known, or for a list of all.
    """
    found = [row for row in installed(GROUP) if row.name not in PASSES]
    for row in found:
        PASSES[row.name] = row.value
        SOURCES[row.name] = row.source
    return bool(found)
