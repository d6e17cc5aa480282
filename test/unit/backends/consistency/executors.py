"""The backends, each as a function from a module of `graph` to its results, or to its code."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tools
from foreign import MACHINES, run_foreign
from numpy.typing import NDArray
from opencl import run_opencl, run_webgpu
from simt_device import run_on_fibers
from sources import run_c
from xdsl.dialects.builtin import ModuleOp

import nn_opt
from nn_opt.build import signature_of
from nn_opt.device_code import device_code
from nn_opt.ir.target import SCALAR, set_target
from nn_opt.ir.verify import verify as verify_module

Array: TypeAlias = NDArray[Any]
Run: TypeAlias = Callable[[ModuleOp, Sequence[Array], Path], "list[Array] | None"]
GPU = "optimize-graph,lower-to-loops,lower-to-gpu"
TEXT = "optimize-graph,lower-to-loops,lower-to-c"
SPIRV = ("--target-env", "spv1.4")


@dataclass(frozen=True)
class Backend:
    """How a backend's code runs in tests, and the tools that this takes.

    `run` returns results, or None for code that is only compiled. `make test` runs one in so many
    programs: fewer where it takes long.
    """

    how: str
    run: Run
    tools: tuple[str, ...] = ()
    runs: bool = True
    one_in: int = 8


def compiled(target: str) -> Run:
    """Return what runs a module as `nn_opt.compile` does."""

    def run(module: ModuleOp, inputs: Sequence[Array], folder: Path) -> list[Array]:
        model = nn_opt.compile(module, target=target, threads=1, cache=False)
        names = [info.name for info in signature_of(module).inputs]
        return list(model.run(dict(zip(names, inputs, strict=True))).values())

    return run


def lowered(module: ModuleOp, target: str, pipeline: str) -> ModuleOp:
    """Return a module, which is consumed, after passes for a target."""
    set_target(module, target)
    result = nn_opt.Pipeline(pipeline).run(module, verify=False, in_place=True)
    verify_module(result)
    return result


def on_device(target: str, execute: Callable[[ModuleOp, Sequence[Array]], list[Array]]) -> Run:
    """Return what runs kernels for a GPU."""
    return lambda module, inputs, _: execute(lowered(module, target, GPU), inputs)


def on_fibers(target: str) -> Run:
    """Return what runs kernels in a language on the CPU, a fiber a thread."""
    return on_device(target, lambda module, inputs: run_on_fibers(module, inputs, target))


def as_c(module: ModuleOp, inputs: Sequence[Array], folder: Path) -> list[Array]:
    """Run a module as C99."""
    return run_c(lowered(module, SCALAR.name, TEXT), inputs, folder)


def emulated(machine: str) -> Run:
    """Return what runs a module's code for another processor."""

    def run(module: ModuleOp, inputs: Sequence[Array], folder: Path) -> list[Array]:
        names = [info.name for info in signature_of(module).inputs]
        return run_foreign(module, MACHINES[machine], dict(zip(names, inputs, strict=True)), folder)

    return run


def said(*command: str | Path) -> str:
    """Return what a program prints, which must find no fault."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout + done.stderr


def as_ptx(module: ModuleOp, inputs: Sequence[Array], folder: Path) -> None:
    """Assemble kernels for NVIDIA's GPUs."""
    file = folder / "kernels.ptx"
    file.write_text(device_code(lowered(module, "cuda", GPU), "ptx"))
    said(tools.need("ptxas"), "-arch=sm_80", "-O1", "-o", folder / "kernels.o", file)


def as_spirv(module: ModuleOp, inputs: Sequence[Array], folder: Path) -> None:
    """Have Khronos' validator look at kernels."""
    text, code = folder / "kernels.spvasm", folder / "kernels.spv"
    text.write_text(device_code(lowered(module, "opencl", GPU), "spirv"))
    said(tools.need("spirv-as"), *SPIRV, text, "-o", code)
    assert said(tools.need("spirv-val"), *SPIRV, code) == ""


_ARM, _RISCV = ("aarch64-linux-gnu-gcc", "qemu-aarch64"), ("riscv64-linux-gnu-gcc", "qemu-riscv64")
BACKENDS: dict[str, Backend] = {
    "cpu": Backend("this machine", compiled("cpu")),
    "C99": Backend("gcc", as_c, ("cc",)),
    "JavaScript": Backend("node", compiled("js"), ("node",)),
    "Wasm": Backend("wasmtime", compiled("wasm"), ("wasmtime", "wasm-ld")),
    "relaxed Wasm": Backend("wasmtime", compiled("wasm-relaxed"), ("wasmtime", "wasm-ld")),
    "OpenCL": Backend("PoCL", on_device("opencl", run_opencl), ("opencl",)),
    "CUDA": Backend("fibers", on_fibers("cuda"), ("clang++-19",)),
    "Metal": Backend("fibers", on_fibers("metal"), ("clang++-19",)),
    "WGSL": Backend("lavapipe", on_device("webgpu", run_webgpu), ("wgpu", "vulkan")),
    "PTX": Backend("ptxas", as_ptx, ("ptxas",), runs=False),
    "SPIR-V": Backend("spirv-val", as_spirv, ("spirv-as", "spirv-val"), runs=False),
    "aarch64": Backend("qemu", emulated("aarch64"), _ARM),
    "SVE": Backend("qemu", emulated("sve"), _ARM),
    "armv7": Backend("qemu", emulated("armv7"), ("arm-linux-gnueabihf-gcc", "qemu-arm")),
    "riscv64": Backend("qemu", emulated("riscv64"), _RISCV),
    "RVV": Backend("qemu", emulated("rvv"), _RISCV),
}


def as_stored(results: Sequence[Any], like: Sequence[Array]) -> list[Array]:
    """Return results under the types of others: below the graph integers have no sign."""
    pairs = zip(results, like, strict=True)
    return [np.asarray(result).view(want.dtype).reshape(want.shape) for result, want in pairs]
