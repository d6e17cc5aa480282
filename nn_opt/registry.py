"""The table of passes: a flag and where its class lives, imported when it is used."""

from __future__ import annotations

from importlib import import_module

from xdsl.passes import ModulePass

PASSES = {
    "infer-shapes": "nn_opt.passes.infer_shapes:InferShapesPass",
    "canonicalize": "nn_opt.passes.canonicalize:CanonicalizePass",
    "recognize-int8": "nn_opt.passes.recognize_int8:RecognizeInt8Pass",
    "fold-constants": "nn_opt.passes.fold_constants:FoldConstantsPass",
    "simplify-inference": "nn_opt.passes.simplify_inference:SimplifyInferencePass",
    "recognize-gelu": "nn_opt.passes.recognize_gelu:RecognizeGeluPass",
    "combine-products": "nn_opt.passes.combine_products:CombineProductsPass",
    "fold-scale-axis": "nn_opt.passes.fold_scale_axis:FoldScaleAxisPass",
    "cse": "nn_opt.passes.cse:CsePass",
    "dce": "nn_opt.passes.dce:DcePass",
    "unfold-conv-transpose": "nn_opt.passes.unfold_conv_transpose:UnfoldConvTransposePass",
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
    "expand-math": "nn_opt.passes.expand_math:ExpandMathPass",
    "plan-memory": "nn_opt.passes.plan_memory:PlanMemoryPass",
    "convert-loop-to-llvm": "nn_opt.conversion.loop_to_llvm:ConvertLoopToLlvmPass",
    "insert-timers": "nn_opt.passes.insert_timers:InsertTimersPass",
    "convert-loop-to-scf": "nn_opt.conversion.loop_to_scf:ConvertLoopToScfPass",
}

# What looks at one function at a time, so that func.func(...) may hold it.
FUNCTION_PASSES = frozenset(
    {
        "infer-shapes",
        "canonicalize",
        "recognize-int8",
        "fold-constants",
        "simplify-inference",
        "recognize-gelu",
        "combine-products",
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
        "lower-blocks",
        "flatten-accesses",
        "partition-loops",
        "compact-buffers",
        "tensorize-loops",
        "vectorize-loops",
        "expand-math",
    }
)


def load_pass(name: str) -> type[ModulePass]:
    """Return the class of a pass; KeyError for a name without a row."""
    module, _, attribute = PASSES[name].partition(":")
    return getattr(import_module(module), attribute)
