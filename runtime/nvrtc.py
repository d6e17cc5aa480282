"""NVRTC through ctypes: CUDA C++ to machine code, without a toolkit."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nn_opt.runtime.device import DeviceError

INSTALL = "pip install 'nn-opt[cuda]'"
SONAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll")
# Sums of products are fused where the IR says so, and nowhere else.
OPTIONS = ("--fmad=false", "--std=c++17")


def _packaged(pattern: str) -> Iterator[Path]:
    """Yield files of NVIDIA's Python packages."""
    spec = find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        yield from sorted(Path(folder).glob(pattern), reverse=True)


@cache
def library() -> ctypes.CDLL:
    """Return NVRTC: that of a Python package, or the machine's.

    Raises: DeviceError if there is none.
    """
    for name in (*map(str, _packaged("*/lib/libnvrtc.so.*")), *SONAMES):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise DeviceError(f"error: CUDA kernels need the compiler NVRTC\n  hint: run {INSTALL}")


def _check(status: int, what: str) -> None:
    if status:
        text = library().nvrtcGetErrorString
        text.restype = ctypes.c_char_p
        raise DeviceError(f"error: {what}: {text(status).decode()}")


def _read(program: ctypes.c_void_p, name: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(library(), f"nvrtcGet{name}Size")(program, ctypes.byref(size)), name)
    content = ctypes.create_string_buffer(size.value)
    _check(getattr(library(), f"nvrtcGet{name}")(program, content), name)
    return content.raw


def _machines() -> list[int]:
    """Return the machines that NVRTC makes code for, such as 90."""
    count = ctypes.c_int()
    _check(library().nvrtcGetNumSupportedArchs(ctypes.byref(count)), "NVRTC")
    machines = (ctypes.c_int * count.value)()
    _check(library().nvrtcGetSupportedArchs(machines), "NVRTC")
    return sorted(machines)


def include_folders() -> list[str]:
    """Return where headers of CUDA may be, for texts that need some."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders = [*_packaged("*/include"), *(Path(home) / "include" for home in homes if home)]
    return [str(folder) for folder in folders if (folder / "cuda_fp16.h").is_file()]


def compile_text(text: str, machine: int) -> bytes:
    """Return code for a machine, such as 90: its own if NVRTC knows it, else portable PTX.

    Raises: DeviceError with the compiler's words.
    """
    known = [one for one in _machines() if one <= machine]
    if not known:
        lowest = min(_machines())
        problem = f"error: NVRTC makes code for sm_{lowest} and later, not for sm_{machine}"
        raise DeviceError(f"{problem}\n  hint: install an older nvidia-cuda-nvrtc")
    exact = known[-1] == machine
    target = f"--gpu-architecture={'sm' if exact else 'compute'}_{known[-1]}"
    includes = [f"--include-path={one}" for one in include_folders()] if "#include" in text else []
    return _compile(text, [target, *OPTIONS, *includes], "CUBIN" if exact else "PTX")


def _compile(text: str, options: Sequence[str], form: str) -> bytes:
    program = ctypes.c_void_p()
    create = library().nvrtcCreateProgram
    source: Any = text.encode()
    _check(create(ctypes.byref(program), source, b"model.cu", 0, None, None), "NVRTC")
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    try:
        status = library().nvrtcCompileProgram(program, len(options), words)
        if status:
            log = _read(program, "ProgramLog").decode(errors="replace").rstrip("\0").strip()
            first = next((line for line in log.split("\n") if "error" in line), log)
            raise DeviceError(f"error: NVRTC does not compile the kernels: {first}")
        return _read(program, form)
    finally:
        library().nvrtcDestroyProgram(ctypes.byref(program))
