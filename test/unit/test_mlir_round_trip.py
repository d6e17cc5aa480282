"""What we print in upstream dialects is MLIR: mlir-opt reads it, and we read what it prints."""

# ruff: noqa: E501  (lines of IR)
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from same_ir import difference
from tensor_kernels import KERNELS
from upstream import require_tools, tool
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from bench import models
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify
from nn_opt.ir.weights import inline_weights
from nn_opt.pipelines import LOWER_TO_LLVM, run_passes
from nn_opt.plans import parse_pipeline

UPSTREAM = {"builtin", "func", "arith", "math", "memref", "scf", "cf", "vector", "llvm"}
LIT = Path(__file__).parents[1] / "lit"
# Misuses that only LLVM knows as such, or that are dropped before MLIR would see them.
NOT_MLIR = "llvm-invalid.mlir"
SPLIT = "// -----\n"
TO_SCF = "lower-blocks,vectorize-loops,convert-loop-to-scf"
FROM_TENSOR = {
    "scf": "convert-tensor-to-loop,lower-blocks,convert-loop-to-scf",
    "llvm": "convert-tensor-to-loop,default-schedules,apply-schedule,lower-to-llvm",
}
# MLIR has functions such as exp, so that they need not be expanded.
TO_LOOPS = [step for step in LOWER_TO_LLVM[:-1] if step != "expand-math"]
OF_MODELS = {
    "scf": ",".join(["optimize-graph,lower-to-loops", *TO_LOOPS, "convert-loop-to-scf"]),
    "expanded": ",".join(
        ["optimize-graph,lower-to-loops", *LOWER_TO_LLVM[:-1], "convert-loop-to-scf"]
    ),
    "llvm": "compile",
}


def is_upstream(module: ModuleOp) -> bool:
    return all(op.name.partition(".")[0] in UPSTREAM for op in module.walk())


def parsed(text: str, filename: str = "in.mlir") -> ModuleOp:
    module = parse_module(make_context(), text, filename)
    verify(module)
    return module


def lowered(module: ModuleOp, pipeline: str) -> ModuleOp:
    run_passes(make_context(), module, parse_pipeline(pipeline))
    return module


def texts_of_lit() -> Iterator[str]:
    """Yield what is right in the inputs of the lit tests, and the loops among it as scf."""
    for file in sorted(LIT.rglob("*.mlir")):
        if "errors" in file.parts or file.name == NOT_MLIR:
            continue
        for text in re.split(r"^// -----.*\n", file.read_text("utf-8"), flags=re.MULTILINE):
            # xDSL numbers the keys of resources anew in each text that a process reads.
            if "graph." not in text and "dense_resource" not in text:
                yield text


def modules_of_lit() -> Iterator[ModuleOp]:
    for text in texts_of_lit():
        for pipeline in ("", TO_SCF) if "loop." in text else ("",):
            try:
                module = lowered(parsed(text), pipeline)
            except (DiagnosticError, DiagnosticException):
                continue  # refused, as the test of the file wants it
            if is_upstream(module):
                yield module


def round_trip(modules: list[ModuleOp], *options: str) -> None:
    """Assert that mlir-opt reads both forms, and that what it prints is the same program."""
    require_tools()
    assert modules, "there is nothing to compare"
    for generic in (False, True):
        texts = [print_module(module, generic=generic) for module in modules]
        flags = [*options, "--split-input-file", *([] if generic else ["--mlir-print-op-generic"])]
        printed = tool("mlir-opt", *flags, text=SPLIT.join(texts)).split(SPLIT)
        for text, back in zip(texts, printed, strict=True):
            assert difference(parsed(text), parsed(back, "mlir-opt")) is None


@cache
def lit_modules() -> list[ModuleOp]:
    distinct = {print_module(module): module for module in modules_of_lit()}
    return list(distinct.values())


def test_inputs_of_the_lit_tests_and_their_loops():
    assert len(lit_modules()) > 50
    round_trip(lit_modules())


@pytest.mark.parametrize("level", FROM_TENSOR)
def test_kernels(level: str):
    modules = [lowered(kernel.module(), FROM_TENSOR[level]) for kernel in KERNELS.values()]
    assert all(map(is_upstream, modules))
    round_trip(modules)


@pytest.mark.parametrize("level", OF_MODELS)
@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_models(name: str, level: str):
    module = import_model(models.build_small(name))
    if level != "llvm":
        inline_weights(module)
    module = lowered(module, OF_MODELS[level])
    assert is_upstream(module)
    # In the llvm dialect, a list of weights by key is left: an attribute that MLIR need not know.
    options = ["--allow-unregistered-dialect"] if level == "llvm" else []
    round_trip([module], *options)


def test_our_llvm_dialect_adds_what_mlir_has():
    """All operations of our llvm dialect that xDSL's lacks, or has for scalars only."""
    text = """
      llvm.func @f(%v: vector<4xf32>, %i: i64, %w: vector<4xi32>, %c: vector<4xi1>, %s: i1, %x: !llvm.ptr) {
        %a = llvm.extractelement %v[%i : i64] : vector<4xf32>
        %p = llvm.mlir.poison : vector<4xf32>
        %b = llvm.uitofp %w : vector<4xi32> to vector<4xf32>
        %d = llvm.fptosi %b : vector<4xf32> to vector<4xi32>
        %e = llvm.fptoui %b : vector<4xf32> to vector<4xi32>
        %g = llvm.fcmp "olt" %b, %p {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
        %h = llvm.select %c, %v, %b : vector<4xi1>, vector<4xf32>
        %k = llvm.select %s, %a, %a : i1, f32
        %q = llvm.getelementptr inbounds|nuw %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %t = llvm.trunc %i overflow<nsw> : i64 to i32
        %u = llvm.add %i, %i overflow<nuw> : i64
        %y = llvm.atomicrmw add %x, %i monotonic : !llvm.ptr, i64
        %z = llvm.atomicrmw _xor %x, %i seq_cst : !llvm.ptr, i64
        llvm.return
      }"""
    round_trip([parsed(text)])


def test_our_gpu_dialect_is_in_the_syntax_of_mlir():
    """All operations of MLIR's gpu dialect that kernels and their hosts are made of."""
    text = """
      module attributes {gpu.container_module} {
        gpu.module @k {
          gpu.func @f(%x: memref<4xf32>, %y: f32) workgroup(%t: memref<8xf32>) private(%p: memref<1xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
            %bx = gpu.block_id x
            %tx = gpu.thread_id y upper_bound 32
            %bd = gpu.block_dim z
            %gd = gpu.grid_dim x
            %gi = gpu.global_id x
            %l = gpu.lane_id
            %sg = gpu.subgroup_id : index
            %ss = gpu.subgroup_size : index
            %ns = gpu.num_subgroups upper_bound 4 : index
            %c = arith.constant 1 : i32
            %s, %v = gpu.shuffle xor %y, %c, %c : f32
            %r, %w = gpu.rotate %y, 4, 16 : f32
            %a = gpu.subgroup_reduce add %y : (f32) -> f32
            %b = gpu.subgroup_reduce maximumf %y uniform cluster(size = 4, stride = 2) : (f32) -> f32
            %d = gpu.subgroup_broadcast %y, first_active_lane : f32
            %e = gpu.subgroup_broadcast %y, specific_lane %c : f32
            %g = gpu.all_reduce add %y uniform {
            } : (f32) -> f32
            %h = gpu.all_reduce %y {
            ^bb0(%i: f32, %j: f32):
              %k = arith.mulf %i, %j : f32
              gpu.yield %k : f32
            } : (f32) -> f32
            gpu.barrier
            gpu.return
          }
          gpu.func @m(%x: memref<32x32xf16>, %z: memref<32x32xf32>, %i: index, %v: f32) kernel {
            %a = gpu.subgroup_mma_load_matrix %x[%i, %i] {leadDimension = 32 : index} : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
            %b = gpu.subgroup_mma_load_matrix %x[%i, %i] {leadDimension = 32 : index, transpose} : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
            %c = gpu.subgroup_mma_constant_matrix %v : !gpu.mma_matrix<16x16xf32, "COp">
            %d = gpu.subgroup_mma_compute %a, %b, %c {b_transpose} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
            %e = gpu.subgroup_mma_elementwise addf %d, %c : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
            gpu.subgroup_mma_store_matrix %e, %z[%i, %i] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<32x32xf32>
            gpu.return
          }
        }
        func.func @main(%x: memref<4xf32>, %f: f32, %i: i32, %r: memref<*xf32>) {
          %c = arith.constant 1 : index
          %n = arith.constant 32 : index
          %t = gpu.wait async
          gpu.launch_func @k::@f blocks in (%c, %c, %c) threads in (%n, %c, %c) dynamic_shared_memory_size %i args(%x : memref<4xf32>, %f : f32)
          %u = gpu.launch_func async [%t] @k::@f blocks in (%c, %c, %c) threads in (%n, %c, %c) args(%x : memref<4xf32>, %f : f32)
          %a, %w = gpu.alloc async [%u] (%c) : memref<?xf32>
          %b = gpu.alloc host_shared () : memref<4xf32>
          gpu.wait [%w]
          gpu.memcpy %b, %x : memref<4xf32>, memref<4xf32>
          gpu.dealloc %b : memref<4xf32>
          gpu.launch blocks(%bx, %by, %bz) in (%gx = %c, %gy = %c, %gz = %c) threads(%tx, %ty, %tz) in (%sx = %c, %sy = %c, %sz = %c) {
            gpu.terminator
          }
          gpu.host_register %r : memref<*xf32>
          gpu.host_unregister %r : memref<*xf32>
          gpu.set_default_device %i
          func.return
        }
      }"""
    round_trip([parsed(text)])


def test_our_patterns_are_patterns_of_mlir():
    require_tools()
    rules = LIT / "passes" / "Inputs" / "apply-pdl" / "rules.pdl"
    text = tool("mlir-opt", "--convert-pdl-to-pdl-interp", text=rules.read_text("utf-8"))
    assert text.count("pdl_interp.record_match") == rules.read_text("utf-8").count("pdl.pattern @")


NUMBERS = """
func.func @f(%a: i32, %x: f32, %v: vector<2xf16>) attributes {text = "a\\22b\\0A"} {
  %0 = arith.constant 0x7FC00000 : f32
  %1 = arith.constant 0xFF800000 : f32
  %2 = arith.constant -0.0 : f64
  %3 = arith.constant dense<[1.0, -0.0]> : vector<2xbf16>
  %4 = arith.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %5 = arith.constant 1.0e-45 : f32
  %6 = arith.constant 9223372036854775807 : i64
  %7 = arith.constant true
  %8 = arith.constant dense<[[true, false]]> : tensor<1x2xi1>
  %9 = arith.addf %x, %x fastmath<nnan,contract> : f32
  %10 = arith.addi %a, %a overflow<nsw> : i32
  %11 = math.exp %v fastmath<fast> : vector<2xf16>
  func.return
}
"""


def test_numbers_flags_and_strings():
    round_trip([parsed(NUMBERS)])


def test_locations():
    require_tools()
    text = print_module(parsed(NUMBERS, "numbers.mlir"), locations=True)
    back = parsed(tool("mlir-opt", "--mlir-print-debuginfo", text=text), "mlir-opt")
    assert difference(parsed(text), back) is None
    places = [str(op.location) for op in back.walk()]
    assert places == [str(op.location) for op in parsed(text).walk()]
    assert 'loc("numbers.mlir":3:8)' in places
