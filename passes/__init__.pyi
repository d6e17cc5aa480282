"""The names in the table of passes, written by docs/generate.py."""

from typing import Any, Literal

from nn_opt.conversion.gpu_to_llvm import ConvertGpuToLlvmPass
from nn_opt.conversion.graph_to_tensor import ConvertGraphToTensorPass
from nn_opt.conversion.loop_to_gpu import ConvertLoopToGpuPass
from nn_opt.conversion.loop_to_llvm import ConvertLoopToLlvmPass
from nn_opt.conversion.loop_to_scf import ConvertLoopToScfPass
from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.passes.alternate_scans import AlternateScansPass
from nn_opt.passes.apply_pdl import ApplyPdlPass
from nn_opt.passes.apply_schedule import ApplySchedulePass
from nn_opt.passes.canonicalize import CanonicalizePass
from nn_opt.passes.check_indices import CheckIndicesPass
from nn_opt.passes.choose_convolution import ChooseConvolutionPass
from nn_opt.passes.choose_layout import ChooseLayoutPass
from nn_opt.passes.combine_products import CombineProductsPass
from nn_opt.passes.compact_buffers import CompactBuffersPass
from nn_opt.passes.cse import CsePass
from nn_opt.passes.dce import DcePass
from nn_opt.passes.default_schedules import DefaultSchedulesPass
from nn_opt.passes.expand_math import ExpandMathPass
from nn_opt.passes.flatten_accesses import FlattenAccessesPass
from nn_opt.passes.fold_constants import FoldConstantsPass
from nn_opt.passes.fold_scale_axis import FoldScaleAxisPass
from nn_opt.passes.fuse_ops import FuseOpsPass
from nn_opt.passes.gpu_verify import GpuVerifyPass
from nn_opt.passes.infer_shapes import InferShapesPass
from nn_opt.passes.insert_barriers import InsertBarriersPass
from nn_opt.passes.insert_timers import InsertTimersPass
from nn_opt.passes.keep_wide import KeepWidePass
from nn_opt.passes.lower_blocks import LowerBlocksPass
from nn_opt.passes.lower_precision import LowerPrecisionPass
from nn_opt.passes.lower_thread_reductions import LowerThreadReductionsPass
from nn_opt.passes.outline_kernels import OutlineKernelsPass
from nn_opt.passes.pack_matmuls import PackMatmulsPass
from nn_opt.passes.partition_loops import PartitionLoopsPass
from nn_opt.passes.plan_memory import PlanMemoryPass
from nn_opt.passes.recognize_block_weights import RecognizeBlockWeightsPass
from nn_opt.passes.recognize_gelu import RecognizeGeluPass
from nn_opt.passes.recognize_int8 import RecognizeInt8Pass
from nn_opt.passes.reuse_loads import ReuseLoadsPass
from nn_opt.passes.simplify_inference import SimplifyInferencePass
from nn_opt.passes.simplify_scans import SimplifyScansPass
from nn_opt.passes.stream_softmax import StreamSoftmaxPass
from nn_opt.passes.tensorize_loops import TensorizeLoopsPass
from nn_opt.passes.unfold_conv_transpose import UnfoldConvTransposePass
from nn_opt.passes.unroll_loops import UnrollLoopsPass
from nn_opt.passes.unsqueeze_windows import UnsqueezeWindowsPass
from nn_opt.passes.vectorize_loops import VectorizeLoopsPass
from nn_opt.passes.widen_products import WidenProductsPass
from nn_opt.pipeline import Pipeline

ConvertGpuToLlvm = ConvertGpuToLlvmPass
ConvertGraphToTensor = ConvertGraphToTensorPass
ConvertLoopToGpu = ConvertLoopToGpuPass
ConvertLoopToLlvm = ConvertLoopToLlvmPass
ConvertLoopToScf = ConvertLoopToScfPass
ConvertTensorToLoop = ConvertTensorToLoopPass
AlternateScans = AlternateScansPass
ApplyPdl = ApplyPdlPass
ApplySchedule = ApplySchedulePass
Canonicalize = CanonicalizePass
CheckIndices = CheckIndicesPass
ChooseConvolution = ChooseConvolutionPass
ChooseLayout = ChooseLayoutPass
CombineProducts = CombineProductsPass
CompactBuffers = CompactBuffersPass
Cse = CsePass
Dce = DcePass
DefaultSchedules = DefaultSchedulesPass
ExpandMath = ExpandMathPass
FlattenAccesses = FlattenAccessesPass
FoldConstants = FoldConstantsPass
FoldScaleAxis = FoldScaleAxisPass
FuseOps = FuseOpsPass
GpuVerify = GpuVerifyPass
InferShapes = InferShapesPass
InsertBarriers = InsertBarriersPass
InsertTimers = InsertTimersPass
KeepWide = KeepWidePass
LowerBlocks = LowerBlocksPass
LowerPrecision = LowerPrecisionPass
LowerThreadReductions = LowerThreadReductionsPass
OutlineKernels = OutlineKernelsPass
PackMatmuls = PackMatmulsPass
PartitionLoops = PartitionLoopsPass
PlanMemory = PlanMemoryPass
RecognizeBlockWeights = RecognizeBlockWeightsPass
RecognizeGelu = RecognizeGeluPass
RecognizeInt8 = RecognizeInt8Pass
ReuseLoads = ReuseLoadsPass
SimplifyInference = SimplifyInferencePass
SimplifyScans = SimplifyScansPass
StreamSoftmax = StreamSoftmaxPass
TensorizeLoops = TensorizeLoopsPass
UnfoldConvTranspose = UnfoldConvTransposePass
UnrollLoops = UnrollLoopsPass
UnsqueezeWindows = UnsqueezeWindowsPass
VectorizeLoops = VectorizeLoopsPass
WidenProducts = WidenProductsPass

def OptimizeGraph(
    *,
    winograd: Literal["auto", "off", "force2", "force4"] = ...,
    precision: Literal["f32", "bf16"] = ...,
    max_depth: int = ...,
    block: int = ...,
) -> Pipeline: ...
def LowerToLoops(
    *,
    apply_now: bool = ...,
    tile: int | None = ...,
) -> Pipeline: ...
def LowerToLlvm() -> Pipeline: ...
def LowerToC() -> Pipeline: ...
def LowerToJs(
    *,
    most: int = ...,
    most_ops: int = ...,
) -> Pipeline: ...
def LowerToGpu(
    *,
    most: int = ...,
    most_ops: int = ...,
    single_thread: bool = ...,
) -> Pipeline: ...
def Compile(
    *,
    winograd: Literal["auto", "off", "force2", "force4"] = ...,
    precision: Literal["f32", "bf16"] = ...,
    max_depth: int = ...,
    block: int = ...,
    apply_now: bool = ...,
    tile: int | None = ...,
) -> Pipeline: ...

# Passes of others: registered by a program, of installed packages, and xDSL's (`XdslCse`).
def __getattr__(name: str) -> Any: ...  # pyright: ignore[reportIncompleteStub]
def __dir__() -> list[str]: ...
