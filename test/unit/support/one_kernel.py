"""A module of one kernel and its launch, from the kernel's body."""

# ruff: noqa: E501  (lines of IR)
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import verify
from nn_opt.reference import run

CUDA = (
    "#gpu.limits<cuda, threads = 1024, shared_bytes = 49152, arguments = 32, subgroup = {subgroup},"
    " grid = [1024, 64, 64], block = [1024, 1024, 64]>"
)


def module_of(
    body: str,
    types: list[str],
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    subgroup: int = 32,
    marks: str = "",
) -> ModuleOp:
    """Return a module that launches one kernel on %x0, %x1, ..., the last of which is a result."""
    names = [f"%x{k}" for k in range(len(types))]
    inputs = ", ".join(f"{n}: memref<{t}>" for n, t in zip(names, types, strict=True))
    args = ", ".join(f"{n} : memref<{t}>" for n, t in zip(names, types, strict=True))
    sizes = [f"%c{k}" for k in range(6)]
    constants = "\n".join(
        f"{name} = arith.constant {size} : index"
        for name, size in zip(sizes, (*grid, *block), strict=True)
    )
    text = f"""builtin.module attributes {{gpu.container_module}} {{
      gpu.module @kernels attributes {{gpu.limits = {CUDA.format(subgroup=subgroup)}}} {{
        gpu.func @f({inputs}) kernel attributes {{known_block_size = array<i32: {str(block)[1:-1]}>{marks}}} {{
          {body}
          gpu.return
        }}
      }}
      func.func @main({inputs}) attributes {{num_outputs = 1 : i64}} {{
        {constants}
        gpu.launch_func @kernels::@f blocks in ({", ".join(sizes[:3])}) threads in ({", ".join(sizes[3:])}) args({args})
        func.return
      }}
    }}"""
    module = parse_module(make_context(), text, "k.mlir")
    verify(module)
    return module


def result(body: str, types: list[str], inputs: list[Any], **launch: Any) -> Any:
    return run(module_of(body, types, **launch), inputs)[0]


def refusal(body: str, types: list[str], inputs: list[Any], **launch: Any) -> str:
    with pytest.raises(InterpretationError) as caught:
        result(body, types, inputs, **launch)
    return re.sub(r"k\.mlir:\d+:\d+", "k.mlir", str(caught.value))


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
