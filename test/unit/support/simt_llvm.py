"""Runs kernels that went through LLVM's IR for a device on this CPU, whose threads are fibers.

The same IR is compiled for this machine; what the device does itself, such as telling a thread's
id, is done by functions on the runtime in support/simt.
"""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import tools
from simt_device import Array, run_twice
from simt_programs import COMMON, EXACT, SOURCES, Kernel, Program, call, runtime, work_folder
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.llvm.object import emit_object
from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.device_code import device_text
from nn_opt.ir.target import host

HEAD = '#include "cuda_prelude.h"\nSIMT_SHARED char unused[16];\nextern "C" {\n'
AXES = {"x": 0, "y": 1, "z": 2}
NUMBERS = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}
OPENCL = {
    "get_local_id": "threadIdx",
    "get_group_id": "blockIdx",
    "get_local_size": "blockDim",
    "get_num_groups": "gridDim",
}
SHUFFLES = {"bfly": "xor_", "down": "down_", "up": "up_", "idx": ""}


def device_functions() -> str:
    """Return what PTX and OpenCL C have, in C++."""
    lines = [
        f"unsigned nvvm_read_ptx_sreg_{word}_{axis}() {{ return {number}.{axis}; }}"
        for word, number in NUMBERS.items()
        for axis in AXES
    ]
    lines += [
        f"unsigned long _Z{len(name)}{name}j(unsigned d) "
        f"{{ return d == 0 ? {of}.x : d == 1 ? {of}.y : {of}.z; }}"
        for name, of in OPENCL.items()
    ]
    lines += [
        # The upper half of the last operand is 32 minus the width of a group of lanes.
        f"{kind} nvvm_shfl_sync_{word}_{suffix}(int mask, {kind} v, int offset, int clamp) "
        f"{{ return __shfl_{name}sync(mask, v, offset, 32 - (clamp >> 8)); }}"
        for word, name in SHUFFLES.items()
        for kind, suffix in (("float", "f32"), ("int", "i32"))
    ]
    lines += [
        "unsigned nvvm_read_ptx_sreg_laneid() { return simt::lane(); }",
        "int nvvm_vote_ballot_sync(int mask, bool p) { return __ballot_sync(mask, p); }",
        "void nvvm_barrier_cta_sync_aligned_all(int) { __syncthreads(); }",
        "void _Z7barrierj(unsigned) { __syncthreads(); }",
    ]
    return "\n".join(lines)


def for_this_machine(text: str) -> str:
    """Return IR for a device whose kernels and intrinsics are functions of C."""
    text = re.sub(r"\b(ptx|spir)_kernel ", "", text)
    text = re.sub(r"@llvm\.nvvm\.([\w.]+)", lambda m: "@nvvm_" + m[1].replace(".", "_"), text)
    return re.sub(r'"nvvm.reqntid"="[^"]*"', "", text)


def compile_llvm(text: str, kernels: Mapping[str, tuple[str, int]]) -> Program:
    """Return a program; `kernels` are the functions of IR, and how many pointers each takes."""
    folder = Path(tempfile.mkdtemp(dir=work_folder()))
    source, glue, code, library = (
        folder / name for name in ("glue.cpp", "glue.o", "code.o", "kernels.so")
    )
    code.write_bytes(emit_object(for_this_machine(text), host()))
    declared = "".join(
        f"void {name}({', '.join(['void*'] * count)});\n" for name, count in kernels.values()
    )
    exported = "".join(_exported(symbol, name) for symbol, (name, _) in kernels.items())
    source.write_text(f"{HEAD}{device_functions()}\n{declared}}}\n{exported}")
    compiler = tools.need("clang++-19")
    include = f"-I{SOURCES / 'cuda'}"
    call([compiler, *COMMON, *EXACT, "-O1", include, "-c", source, "-o", glue])
    call([compiler, "-shared", "-o", library, glue, code, runtime()])
    return Program(ctypes.CDLL(str(library)), {symbol: Kernel(symbol) for symbol in kernels})


def _exported(symbol: str, name: str) -> str:
    """Return what a launch calls: a kernel under the name that the plan has for it."""
    return (
        f"SIMT_PUBLIC void simt_kernel_{symbol}(void** holders) "
        f"{{ ::simt::call({name}, holders); }}\n"
    )


def run_llvm_on_fibers(module: ModuleOp, inputs: Sequence[Array], device: str) -> list[Array]:
    """Return what @main of a module at the gpu level computes, in two orders of threads."""
    source = print_kernels(module, language_named("cuda"))
    plan, weights = plan_launches(module, source, signature_of(module))
    kernels = {k.symbol: (k.name, len(k.arguments)) for k in plan.kernels}
    program = compile_llvm(device_text(module, device), kernels)
    return run_twice(program, plan, weights.content(), inputs)
