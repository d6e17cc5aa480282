"""Runs kernels of loop text on this machine, for tests that compare with NumPy."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

import numpy as np
from xdsl.passes import ModulePass

from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.object import emit_assembly, emit_object
from nn_opt.conversion.loop_to_llvm import ConvertLoopToLlvmPass
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import set_target, target_named
from nn_opt.runtime.loader import LoadedCode

# What the runtime's pool does, on one thread and in two pieces.
SERIAL_POOL = """
define void @nn_parallel(ptr %f, ptr %c, i64 %n) {
  %h = udiv i64 %n, 2
  call void %f(i64 %h, i64 %n, ptr %c)
  call void %f(i64 0, i64 %h, ptr %c)
  ret void
}
"""
RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def lowered(text: str, passes: Sequence[ModulePass] = (), target: str | None = None):
    """Return the module of the llvm dialect, planned for a target if one is named."""
    context = make_context()
    module = parse_module(context, text, "test.mlir")
    if target is not None:
        set_target(module, target)
    module.verify()
    for step in (*passes, ConvertLoopToLlvmPass()):
        step.apply(context, module)
        module.verify()
    return module


def llvm_text(text: str, passes: Sequence[ModulePass] = (), target: str | None = None) -> str:
    """Return LLVM assembly, with a pool if the code calls one."""
    result = print_module(lowered(text, passes, target))
    declared = "declare void @nn_parallel(ptr, ptr, i64)"
    return result.replace(declared, SERIAL_POOL)


class Machine:
    """The functions of a module, callable with arrays."""

    def __init__(self, text: str, passes: Sequence[ModulePass] = (), target: str | None = None):
        """Compile for this machine, or for one whose code it runs."""
        self.llvm = llvm_text(text, passes, target)
        self.code = LoadedCode([emit_object(self.llvm, target_named(target or "host"))])

    def __call__(self, name: str, *arrays: np.ndarray) -> None:
        """Run a kernel; the arrays are its buffers, in order."""
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
        for array in arrays:
            assert array.flags.c_contiguous
        function(self.code.address(name))(*(array.ctypes.data for array in arrays))


def run(text: str, name: str, *arrays: np.ndarray, passes: Sequence[ModulePass] = ()) -> None:
    """Compile and run one kernel."""
    Machine(text, passes)(name, *arrays)


def assembly(text: str, target: str, passes: Sequence[ModulePass] = ()) -> str:
    """Return the machine code of loop text for a target."""
    return emit_assembly(llvm_text(text, passes, target), target_named(target))


def vector_spills(code: str) -> int:
    """Return how often vector registers go to or come from the stack."""
    lines = [line for line in code.splitlines() if re.search(r"%[xyz]mm\d", line)]
    return sum("(%rsp)" in line for line in lines)
