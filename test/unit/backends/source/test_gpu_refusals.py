"""What a language for kernels cannot say is refused with its reason, and what to do."""

from __future__ import annotations

import re

import pytest
from one_kernel import CUDA
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import nn_opt
from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.runtime.manifest import Manifest

T = "%t = gpu.thread_id x\n"
DOUBLE = "%v = loop.load %x0[%t] : memref<4xf64>\nloop.store %v, %x1[%t] : memref<4xf64>"
LONG = "%v = loop.load %x0[%t] : memref<4xi64>\n"
FLOAT = "%v = loop.load %x0[%t] : memref<4xf32>\n"
CASES = [
    (
        "metal",
        T + DOUBLE,
        "f64",
        "the Metal backend has no type for f64\n  hint: Metal has no floats of 64 bits: cast the"
        " model to float32, or compile it for opencl or cuda",
    ),
    ("wgsl", T + DOUBLE, "f64", "the WGSL backend has no type for f64"),
    (
        "metal",
        T + LONG + "%r = gpu.subgroup_reduce add %v : (i64) -> i64",
        "i64",
        "gpu.subgroup_reduce: the Metal backend passes no i64 from lane to lane\n"
        "  hint: reduce it in shared memory",
    ),
    (
        "wgsl",
        T + FLOAT + "%r = gpu.atomic addf %v, %x1[%t] : memref<4xf32>",
        "f32",
        "gpu.atomic: the WGSL backend has no atomic addf of f32",
    ),
    (
        "opencl",
        T + FLOAT + '%m = gpu.subgroup_mma_constant_matrix %v : !gpu.mma_matrix<16x16xf32, "COp">',
        "f32",
        'the OpenCL backend has no type for !gpu.mma_matrix<16x16xf32, "COp">\n'
        "  hint: run --lower-to-gpu first",
    ),
    (
        "cuda",
        T + FLOAT + '%m = gpu.subgroup_mma_constant_matrix %v : !gpu.mma_matrix<8x8xf32, "COp">',
        "f32",
        "the CUDA backend has no products of 8x8x16\n"
        "  hint: the sizes m x n x k are 16x16x16, 32x8x16, 8x32x16",
    ),
    (
        "cuda",
        T + "%c = arith.constant 1 : i8\n%m = gpu.subgroup_mma_constant_matrix %c"
        ' : !gpu.mma_matrix<16x16xi8, "COp">',
        "f32",
        "the CUDA backend has no fragments of i8\n  hint: multiply f16, sum f32 or f16",
    ),
    (
        "cuda",
        T + "%h = arith.constant 1.0 : f16\n"
        '%m = gpu.subgroup_mma_constant_matrix %h : !gpu.mma_matrix<16x16xf16, "COp">\n'
        '%n = gpu.subgroup_mma_elementwise addf %m, %m : (!gpu.mma_matrix<16x16xf16, "COp">,'
        ' !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">',
        "f32",
        "the CUDA backend has no addf of fragments of f16\n  hint: store the fragment, and comp",
    ),
    (
        "cuda",
        T + "%h = arith.constant 1.0 : f16\n"
        '%a = gpu.subgroup_mma_constant_matrix %h : !gpu.mma_matrix<16x16xf16, "AOp">\n'
        '%b = gpu.subgroup_mma_constant_matrix %h : !gpu.mma_matrix<16x16xf16, "BOp">\n'
        '%m = gpu.subgroup_mma_constant_matrix %h : !gpu.mma_matrix<16x16xf16, "COp">\n'
        "%n = gpu.subgroup_mma_compute %a, %b, %m {a_transpose}"
        ' : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp">'
        ' -> !gpu.mma_matrix<16x16xf16, "COp">',
        "f32",
        "the CUDA backend has no products of transposed fragments\n  hint: transpose what is lo",
    ),
    (
        "wgsl",
        T + "%v = loop.view %x0 : memref<4xf32> to memref<4xi32>",
        "f32",
        "loop.view: the WGSL backend has no view of f32 as i32",
    ),
    (
        "opencl",
        T + "%v = loop.load %x0[0] : memref<4xf32>, vector<4xf32>\n"
        "%w = vector.extract %v[%t] : f32 from vector<4xf32>",
        "f32",
        "vector.extract: the OpenCL backend has no lanes that are chosen at run time",
    ),
    (
        "opencl",
        T + '%m = loop.alloc "m" : memref<4xf32>',
        "f32",
        "loop.alloc: allocates global memory inside a kernel\n  hint: run --convert-loop-to-gpu",
    ),
    (
        "cuda",
        T + "%c = arith.cmpi eq, %t, %t : index\n%b = gpu.ballot %c : i64",
        "f32",
        "gpu.ballot: the CUDA backend has ballots of 32 lanes alone",
    ),
    (
        "opencl",
        "",
        "65536x65536xf32",
        "the OpenCL backend has no index for 17179869184 elements of one buffer",
    ),
]


def module_of(body: str, element: str, subgroup: int = 32) -> ModuleOp:
    """Return a module that is not verified: its kernel has a body and two buffers of an element."""
    limits = CUDA.format(subgroup=subgroup)
    heads = f"%x0: memref<4x{element}>, %x1: memref<4x{element}>"
    text = f"""builtin.module {{
    gpu.module @kernels attributes {{gpu.limits = {limits}}} {{
      gpu.func @f({heads}) kernel attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
        {body}
        gpu.return
      }}
    }}
    func.func @main(%x: memref<4xf32>) attributes {{num_outputs = 0 : i64}} {{
      func.return
    }}
    }}"""
    return parse_module(make_context(), text, "k.mlir")


def text(language: str, module: ModuleOp) -> str:
    return print_kernels(module, language_named(language)).text


@pytest.mark.parametrize(("language", "body", "element", "words"), CASES)
def test_a_reason_is_given(language: str, body: str, element: str, words: str):
    module = module_of(body, element)
    with pytest.raises(PassFailedException, match=re.escape(words)):
        text(language, module)


def test_what_depends_on_the_width_of_a_subgroup():
    words = "the OpenCL backend does not know how wide a subgroup is"
    for body in (
        T + FLOAT + "%r = gpu.subgroup_reduce add %v : (f32) -> f32",
        "%n = gpu.subgroup_size : index",
        "%n = gpu.lane_id\n%m = loop.apply 2 * %n",
    ):
        with pytest.raises(PassFailedException, match=re.escape(words)):
            text("opencl", module_of(body, "f32", subgroup=0))


def test_numbers_of_threads_must_be_known():
    module = module_of("", "f32")
    (kernel,) = (op for op in module.walk() if op.name == "gpu.func")
    del kernel.properties["known_block_size"]
    words = "gpu.func: does not say how many threads a block has\n  hint: set known_block_size"
    with pytest.raises(PassFailedException, match=re.escape(words)):
        text("cuda", module)


MAIN = """builtin.module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @f(%x: memref<4xf32>) kernel attributes {{known_block_size = array<i32: 1, 1, 1>}} {{
      gpu.return
    }}
  }}
  func.func @main(%x: memref<8xf32>) attributes {{num_outputs = 0 : i64}} {{
    %c = arith.constant 1 : index
    loop.for %n = 0 to 2 {{
      {body}
    }}
    func.return
  }}
  func.func private @other(memref<8xf32>)
}}"""
LAUNCH = (
    "gpu.launch_func @kernels::@f blocks in ({size}, %c, %c) threads in (%c, %c, %c)"
    " args(%v : memref<4xf32>)"
)
HOSTS = [
    (
        "%v = loop.view %x offset %n floordiv 2 : memref<8xf32> to memref<4xf32>\n"
        + LAUNCH.format(size="%c"),
        "loop.view: begins at (d0 floordiv 2), which launches have no numbers for\n"
        "  hint: let the host's loops be loop.for, and offsets sums of their indices",
    ),
    (
        "func.call @other(%x) : (memref<8xf32>) -> ()",
        "func.call: is not what the host of a GPU does\n  hint: hosts launch kernels, copy and rep",
    ),
    (
        "%v = loop.view %x : memref<8xf32> to memref<4xf32>\n" + LAUNCH.format(size="%n"),
        "gpu.launch_func: launches a number of blocks that is not known before\n  hint: let it be",
    ),
]


@pytest.mark.parametrize(("body", "words"), HOSTS)
def test_what_hosts_do_not_do(body: str, words: str):
    module = nn_opt.parse(MAIN.format(body=body))
    signature = signature_of(module)
    with pytest.raises(PassFailedException, match=re.escape(words)):
        planned(module, signature)


def planned(module: ModuleOp, signature: Manifest) -> None:
    plan_launches(module, print_kernels(module, language_named("opencl")), signature)


def test_a_host_must_be_there():
    module = module_of("", "f32")
    (main,) = (op for op in module.ops if op.name == "func.func")
    signature = signature_of(module)
    main.detach()
    with pytest.raises(PassFailedException, match=r"has no func\.func @main with a body"):
        planned(module, signature)
