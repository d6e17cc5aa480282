"""Every kind of kernel on every kind of processor, with onnxruntime's numbers."""

from __future__ import annotations

from pathlib import Path

import foreign_kernels
import pytest
import tools
from foreign import MACHINES, run_foreign

import nn_opt
from nn_opt.frontends.onnx import import_model

# One of each kind; the others differ in the length of vectors alone.
KINDS = ("cortex-a76", "sve128", "sve512", "armv7", "riscv64", "rvv256", "cortex-m4")


@pytest.mark.parametrize("name", KINDS)
def test_kernels_on(name: str, tmp_path: Path):
    module = import_model(foreign_kernels.model())
    outputs = run_foreign(module, MACHINES[name], foreign_kernels.feeds(), tmp_path)
    foreign_kernels.assert_right(dict(zip(foreign_kernels.OUTPUTS, outputs, strict=True)))


@pytest.mark.parametrize("target", ["wasm", "wasm-relaxed", "x86-64"])
def test_kernels_in_this_process(target: str):
    for tool in ("wasmtime", "wasm-ld") if target.startswith("wasm") else ():
        tools.need(tool)
    compiled = nn_opt.compile(foreign_kernels.model(), target=target, cache=False)
    foreign_kernels.assert_right(compiled.run(foreign_kernels.feeds()))
