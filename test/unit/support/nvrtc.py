"""CUDA's own compiler on text: does it compile, and what does each kernel use of a machine."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import tools


@dataclass(frozen=True)
class Usage:
    """What one kernel uses; stack and spills are bytes a thread, shared memory bytes a block."""

    registers: int
    stack: int
    spills: int
    shared: int


class Refused(AssertionError):
    """A text that the compiler does not take."""


ENTRY = re.compile(
    r"Compiling entry function '(\w+)'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
    r"Used (\d+) registers([^\n]*)",
    re.DOTALL,
)


@cache
def _library() -> Any:
    return ctypes.CDLL(tools.need("nvrtc"))


def _text(program: ctypes.c_void_p, name: str) -> str:
    """Return what `nvrtcGet<name>` gives."""
    size = ctypes.c_size_t()
    getattr(_library(), f"nvrtcGet{name}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(_library(), f"nvrtcGet{name}")(program, buffer)
    return buffer.value.decode()


def compile_cuda(text: str, machine: str, options: Sequence[str] = ()) -> dict[str, Usage]:
    """Return what kernels use on a machine such as sm_90.

    Raises: Refused with the compiler's words.
    """
    library, program = _library(), ctypes.c_void_p()
    source = text.encode()
    assert library.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None) == 0
    words = [f"--gpu-architecture={machine}", "--ptxas-options=-v", *options]
    given = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
    status = library.nvrtcCompileProgram(program, len(words), given)
    log = _text(program, "ProgramLog")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if status != 0:
        raise Refused(log)
    return {entry[1]: _usage(entry) for entry in ENTRY.finditer(log)}


def _usage(entry: re.Match[str]) -> Usage:
    stack, stores, loads, registers = (int(entry[k]) for k in (2, 3, 4, 5))
    shared = re.search(r"(\d+) bytes smem", entry[6])
    return Usage(registers, stack, stores + loads, int(shared[1]) if shared else 0)
