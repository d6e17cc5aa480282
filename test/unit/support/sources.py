"""Runs programs that a source backend printed: C99 by the system's compiler, JavaScript by node."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tools
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.source import SourceProgram, print_c, print_js
from nn_opt.build import signature_of

Array: TypeAlias = NDArray[Any]
FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
DRIVER = """\
import { readFileSync, writeFileSync } from "node:fs";
const folder = process.argv[2], model = await import(`${folder}/model.mjs`);
const bytes = (name) => {
  const b = readFileSync(`${folder}/${name}`);
  return b.buffer.slice(b.byteOffset, b.byteOffset + b.length);
};
const size = (t) => t.shape.reduce((a, b) => a * b, 1);
const inputs = model.inputs.map((t, k) => new globalThis[t.array](bytes(`in${k}`)));
const outputs = model.outputs.map((t) => new globalThis[t.array](size(t)));
model.run(inputs, outputs, bytes("weights"));
outputs.forEach((a, k) => writeFileSync(`${folder}/out${k}`, new Uint8Array(a.buffer)));
"""
Run: TypeAlias = Callable[[ModuleOp, Sequence[Array], Path], list[Array]]


def empty_outputs(module: ModuleOp) -> list[Array]:
    """Return arrays for the results of @main."""
    return [np.empty(info.sizes, info.dtype) for info in signature_of(module).outputs]


def aligned(content: bytes) -> Array:
    """Return bytes at an address that is a multiple of 64."""
    block = np.zeros(len(content) + 128, np.uint8)
    start = -block.ctypes.data % 64
    block[start : start + len(content)] = np.frombuffer(content, np.uint8)
    return block[start:]


def compile_c(program: SourceProgram, folder: Path) -> Any:
    """Return the library of a program; warnings are errors."""
    source, library = folder / "model.c", folder / "model.so"
    source.write_text(program.text)
    command = [tools.need("cc"), *FLAGS, "-o", str(library), str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(library))


def run_c(module: ModuleOp, inputs: Sequence[Array], folder: Path) -> list[Array]:
    """Return what a lowered module computes as C99."""
    program = print_c(module)
    library = compile_c(program, folder)
    outputs = empty_outputs(module)
    weights, arena = aligned(program.weights.content()), aligned(bytes(program.arena_bytes))

    def table(arrays: Sequence[Array]) -> Any:
        return (ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays])

    given = [np.ascontiguousarray(array) for array in inputs]
    places = (ctypes.c_void_p(block.ctypes.data) for block in (weights, arena))
    library.model_run(table(given), table(outputs), *places)
    return outputs


def run_js(module: ModuleOp, inputs: Sequence[Array], folder: Path) -> list[Array]:
    """Return what a lowered module computes as JavaScript, in node."""
    program = print_js(module)
    (folder / "model.mjs").write_text(program.text)
    (folder / "driver.mjs").write_text(DRIVER)
    (folder / "weights").write_bytes(program.weights.content())
    for k, array in enumerate(inputs):
        (folder / f"in{k}").write_bytes(np.ascontiguousarray(array).tobytes())
    command = [tools.need("node"), str(folder / "driver.mjs"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    outputs = empty_outputs(module)
    for k, array in enumerate(outputs):
        content = (folder / f"out{k}").read_bytes()
        array[...] = np.frombuffer(content, array.dtype).reshape(array.shape)
    return outputs
