"""Compiles text for GPUs for the CPU: a library of kernels, on the runtime in support/simt."""

from __future__ import annotations

import atexit
import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tools

SOURCES = Path(__file__).resolve().parent / "simt"
COMMON = ["-std=c++20", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
# Accesses call functions of the runtime; sums round as they are written.
CHECKED = ["-fsanitize=thread,array-bounds,alignment"]
EXACT = ["-march=native", "-ffp-contract=off", "-Xclang", "-ffloat16-excess-precision=none"]
# In Metal, 0.5 is a float.
LITERALS = {"cuda": [], "metal": ["-Xclang", "-cl-single-precision-constant"]}
# What texts made by programs have, and compilers for GPUs do not mind.
QUIET = ["unused-parameter", "unused-variable", "unused-but-set-variable", "unknown-pragmas"]
QUIET += ["unused-function", "unused-const-variable", "missing-braces", "pass-failed"]
QUIET += ["duplicate-decl-specifier", "user-defined-literals", "bitwise-instead-of-logical"]


class Broken(AssertionError):
    """A text that does not compile."""


@dataclass(frozen=True)
class Kernel:
    """What a text says of a kernel."""

    name: str
    most_threads: int = 1024


@dataclass(frozen=True)
class Program:
    """A library of kernels."""

    library: ctypes.CDLL
    kernels: dict[str, Kernel]
    by_address: bool = False  # scalars of a launch are behind an address, too

    def function(self, name: str) -> Any:
        return getattr(self.library, f"simt_kernel_{name}")

    def line(self, address: int) -> str:
        """Return `line 7: ` for an instruction of a kernel."""
        command = ["addr2line", "-e", self.library._name, hex(address - 1)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        file, _, line = done.stdout.strip().rpartition(":")
        number = line.split(" ")[0]
        return f"line {number}: " if Path(file).stem == "kernels" and number.isdigit() else ""


@cache
def work_folder() -> Path:
    """Return a folder of this process."""
    folder = tempfile.mkdtemp(prefix="nn-opt-simt-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def call(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(done.stderr[:4000])


@cache
def runtime(*options: str) -> Path:
    """Return the runtime's object; its files are read as one."""
    folder = Path(tempfile.mkdtemp(dir=work_folder()))
    source, compiled = folder / "runtime.cpp", folder / "runtime.o"
    parts = sorted(SOURCES.glob("*.cpp"))
    source.write_text("".join(f'#include "{part}"\n' for part in parts))
    call([tools.need("clang++-19"), *COMMON, "-O1", *options, "-c", source, "-o", compiled])
    return compiled


@cache
def build(text: str, include: str, *options: str) -> ctypes.CDLL:
    """Return the library of a program in C++, with headers of that folder."""
    folder = Path(tempfile.mkdtemp(dir=work_folder()))
    source, compiled, library = (folder / f"kernels.{end}" for end in ("cpp", "o", "so"))
    source.write_text(text)
    compiler = tools.need("clang++-19")
    quiet = [f"-Wno-{name}" for name in QUIET]
    flags = [*COMMON, *CHECKED, *EXACT, *LITERALS[include], *quiet, "-O1", "-gline-tables-only"]
    call([compiler, *flags, f"-I{SOURCES / include}", "-c", source, "-o", compiled])
    call([compiler, "-shared", "-o", library, compiled, runtime(*options)])
    return ctypes.CDLL(str(library))


CUDA_KERNEL = re.compile(
    r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\(\s*(\d+)[^)]*\)\s*)?(?:void\s+)?(\w+)\s*\("
)
CUDA_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?(\w[\w ]*?)\s+(\w+)\[\];")


def cuda_kernels(text: str) -> dict[str, Kernel]:
    """Return the kernels of a text in CUDA C++."""
    found = CUDA_KERNEL.findall(text)
    return {name: Kernel(name, int(threads or 1024)) for threads, name in found}


def compile_cuda(text: str, *options: str) -> Program:
    """Return a program in CUDA C++, compiled for the CPU."""
    kernels = cuda_kernels(text)
    body = CUDA_DYNAMIC.sub(r"\1* \2 = reinterpret_cast<\1*>(::simt::dynamic_shared());", text)
    exports = "".join(f"SIMT_EXPORT({name})\n" for name in kernels)
    whole = f'#include "cuda_prelude.h"\n#line 1 "kernels.cu"\n{body}\n{exports}'
    return Program(build(whole, "cuda", *options), kernels)
