"""Runs modules of upstream dialects: mlir-opt to the llvm dialect, mlir-translate, llvmlite."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import tools
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

PACKAGES = Path(sysconfig.get_paths()["purelib"])
TOOLS = PACKAGES / "mlir" / "bin"
TO_LLVM = [
    "--expand-strided-metadata",
    "--convert-scf-to-cf",
    "--convert-vector-to-llvm",
    "--arith-expand",
    "--lower-affine",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
]
# Of LLVM 22, unknown to the LLVM in llvmlite.
NEWER = re.compile(r"captures\([^)]*\)|\bnocreateundeforpoison\b|initializes\([^)]*\)")


def require_tools() -> None:
    """Skip the test where MLIR's tools are not installed."""
    tools.need("mlir")


def tool(name: str, *options: str, text: str) -> str:
    """Return what one of MLIR's tools makes of a text."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(PACKAGES / "llvm" / "lib")}
    command = [str(TOOLS / name), *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def llvm_ir(module: ModuleOp) -> str:
    """Return a module of upstream dialects as LLVM IR."""
    lowered = tool("mlir-opt", *TO_LLVM, text=str(module))
    return NEWER.sub("", tool("mlir-translate", "--mlir-to-llvmir", text=lowered))


def descriptor(array: NDArray[Any]) -> list[Any]:
    """Return the arguments that stand for a memref."""
    strides = [stride // array.itemsize for stride in array.strides]
    numbers = [ctypes.c_int64(n) for n in (0, *array.shape, *strides)]
    pointer = ctypes.c_void_p(array.ctypes.data)
    return [pointer, pointer, *numbers]


def run_upstream(module: ModuleOp, name: str, buffers: Sequence[NDArray[Any]]) -> None:
    """Call a function of buffers, compiled through MLIR."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    parsed = llvm.parse_assembly(llvm_ir(module))
    parsed.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    arguments = [part for buffer in buffers for part in descriptor(buffer)]
    function = ctypes.CFUNCTYPE(None, *(type(argument) for argument in arguments))
    function(engine.get_function_address(name))(*arguments)
