"""A model as one WebAssembly module, which imports nothing and says itself what it is.

It exports `memory`, `run` (no arguments, no result) and, as globals, the places in memory where a
caller puts and finds bytes: `weights`, `input0`, `input1`, .., `output0`, .. The custom section
`nn-opt` is JSON: {"inputs": [{"name", "dtype", "shape", "bytes", "export"}, ..], "outputs": ..,
"weight_bytes": n, "arena_bytes": n, "imports": [..]}. `weights` must be filled before the first
`run`, with the bytes of the file of weights. Functions of the C library that the code needs beyond
its own (of float64 only) are imported from `env` under the names of C.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from nn_opt.backends.llvm.object import emit_linked
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import Target
from nn_opt.runtime.manifest import Manifest, TensorInfo

SECTION = "nn-opt"
DEBUG = "!llvm.dbg.cu"  # names the lines of a module's instructions
STACK_BYTES = 1 << 20
MOST_BYTES = 1 << 32  # of a memory with 32-bit addresses
# What code of float64 calls of the C library; engines have it in their own. Of float32 it is two.
IMPORTED = (
    *("atan2f", "cbrtf"),
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf"),
    *("exp", "exp2", "expm1", "fmod", "log", "log10", "log1p", "log2", "pow", "sin", "sinh"),
    *("tan", "tanh"),
)
_VERSIONS = range(25, 14, -1)
_HINT = "install one: `apt-get install lld`, or `pip install ziglang`; or name one in WASM_LD"


def wasm_module(text: str, manifest: Manifest, target: Target) -> bytes:
    """Return the module of a lowered model.

    Raises: DiagnosticError if there is no linker, or the model does not fit into its memory.
    """
    needed = manifest.weight_bytes + manifest.arena_bytes + STACK_BYTES
    needed += sum(_bytes_of(info) for info in (*manifest.inputs, *manifest.outputs))
    if needed >= MOST_BYTES:
        raise DiagnosticError(
            f"error: the model needs {needed >> 20} MiB, and WebAssembly has 4096"
            "\n  hint: lower the sizes of its inputs, or choose another target"
        )
    public = ["run", *_places(manifest)]
    code = emit_linked([text, _glue(manifest)], public, target)
    linked = link(code, public, debug_info=DEBUG in text)
    return linked + custom_section(SECTION, json.dumps(description(manifest)).encode())


def description(manifest: Manifest) -> Mapping[str, Any]:
    """Return what the module says of itself."""
    return {
        "inputs": _tensors("input", manifest.inputs),
        "outputs": _tensors("output", manifest.outputs),
        "weight_bytes": manifest.weight_bytes,
        "arena_bytes": manifest.arena_bytes,
        "target": manifest.target,
    }


def _tensors(kind: str, infos: Sequence[TensorInfo]) -> list[dict[str, Any]]:
    return [
        {
            "name": info.name,
            "dtype": info.dtype.name,
            "shape": list(info.sizes),
            "bytes": _bytes_of(info),
            "export": f"{kind}{k}",
        }
        for k, info in enumerate(infos)
    ]


def _bytes_of(info: TensorInfo) -> int:
    return prod(info.sizes) * info.dtype.itemsize


def _places(manifest: Manifest) -> dict[str, int]:
    """Return the bytes of each place in memory that others see."""
    places = {"weights": manifest.weight_bytes}
    for kind, infos in (("input", manifest.inputs), ("output", manifest.outputs)):
        places |= {f"{kind}{k}": _bytes_of(info) for k, info in enumerate(infos)}
    return places


def _glue(manifest: Manifest) -> str:
    rows = [
        f"@{name} = global [{max(size, 1)} x i8] zeroinitializer, align 64"
        for name, size in (_places(manifest) | {"arena": manifest.arena_bytes}).items()
    ]
    for kind, infos in (("input", manifest.inputs), ("output", manifest.outputs)):
        pointers = ", ".join(f"ptr @{kind}{k}" for k in range(len(infos)))
        value = f"[{pointers}]" if infos else "zeroinitializer"
        rows.append(f"@{kind}s = internal constant [{len(infos)} x ptr] {value}")
    return "\n".join([*rows, _RUN])


_RUN = """
declare void @nn_main(ptr, ptr, ptr, ptr)
define void @run() {
  call void @nn_main(ptr @inputs, ptr @outputs, ptr @weights, ptr @arena)
  ret void
}
"""


def link(code: bytes, exports: Sequence[str], *, debug_info: bool = False) -> bytes:
    """Return the module made of an object file; profilers find the names of its functions there.

    Raises: DiagnosticError.
    """
    linker = find_linker()
    with tempfile.TemporaryDirectory() as folder:
        source, made, allowed = (Path(folder) / name for name in ("k.o", "k.wasm", "imports"))
        source.write_bytes(code)
        allowed.write_text("\n".join(IMPORTED), encoding="ascii")
        command = [
            *(*linker, "--no-entry", "-O2", "--gc-sections", "--stack-first"),
            *([] if debug_info else ["--strip-debug"]),
            *("-z", f"stack-size={STACK_BYTES}", f"--allow-undefined-file={allowed}"),
            *(f"--export={name}" for name in exports),
            *(str(source), "-o", str(made)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = " ".join(done.stderr.split())
            raise DiagnosticError(f"error: {linker[-1]} cannot link the module: {said}")
        return made.read_bytes()


def find_linker() -> list[str]:
    """Return the command of a linker for WebAssembly: $WASM_LD, lld's, or that of ziglang.

    Raises: DiagnosticError if there is none.
    """
    given = os.environ.get("WASM_LD", "")
    for name in filter(None, [given, "wasm-ld", *(f"wasm-ld-{number}" for number in _VERSIONS)]):
        if found := shutil.which(name):
            return [found]
    if _has_zig():
        return [sys.executable, "-m", "ziglang", "wasm-ld"]
    raise DiagnosticError(f"error: there is no linker for WebAssembly here\n  hint: {_HINT}")


@lru_cache(maxsize=1)
def _has_zig() -> bool:
    return find_spec("ziglang") is not None


def custom_section(name: str, data: bytes) -> bytes:
    """Return the bytes of a section that engines pass over."""
    content = _leb(len(name)) + name.encode() + data
    return b"\0" + _leb(len(content)) + content


def _leb(value: int) -> bytes:
    """Return a number as WebAssembly has it: seven bits a byte, the last ones first."""
    parts = bytearray()
    while True:
        value, low = value >> 7, value & 127
        parts.append(low | (128 if value else 0))
        if not value:
            return bytes(parts)


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each section of a module."""
    at = 8  # magic and version
    while at < len(module):
        kind = module[at]
        size, at = _number(module, at + 1)
        yield kind, module[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
