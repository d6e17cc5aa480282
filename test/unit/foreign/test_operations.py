"""Every operation with every element type, on machines of each kind, as the interpreter says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tools
from foreign import MACHINES, run_foreign
from numpy.typing import NDArray
from operations import CASES
from xdsl.dialects.builtin import ModuleOp

import nn_opt
from nn_opt.reference import run

Array = NDArray[Any]
ULPS = 4e-7  # of functions; of those of f64, what C libraries differ by


def kernel(types: Sequence[str], result: str, body: str, count: int) -> str:
    """Return a function that does `%r = body` of elements %a, %b, ... one after the other."""
    names = "abc"[: len(types)]
    arguments = ", ".join(f"%m{n}: memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    loads = "\n".join(
        f"%{n} = loop.load %m{n}[%i] : memref<{count}x{t}>"
        for n, t in zip(names, types, strict=True)
    )
    return f"""({arguments}, %out: memref<{count}x{result}>) attributes {{num_outputs = 1 : i64}} {{
  loop.for %i = 0 to {count} {{
    {loads}
    {body}
    loop.store %r, %out[%i] : memref<{count}x{result}>
  }}
  func.return
}}
"""


@cache
def program() -> str:
    """Return one module with all operations: a process for each would take minutes."""
    arguments: list[str] = []
    results: list[str] = []
    calls: list[str] = []
    texts: list[str] = []
    for number, (_, arrays, types, result, body) in enumerate(CASES):
        count = len(arrays[0])
        texts.append(f"func.func private @k{number}" + kernel(types, result, body, count))
        memrefs = [f"memref<{count}x{t}>" for t in (*types, result)]
        names = [f"%i{number}_{k}" for k in range(len(types))]
        arguments += [f"{n}: {m}" for n, m in zip(names, memrefs, strict=False)]
        results.append(f"%o{number}: {memrefs[-1]}")
        called = ", ".join([*names, f"%o{number}"])
        calls.append(f"func.call @k{number}({called}) : ({', '.join(memrefs)}) -> ()")
    head = f"func.func @main({', '.join([*arguments, *results])})"
    body = "\n".join([*calls, "func.return"])
    attributes = f"attributes {{num_outputs = {len(CASES)} : i64}}"
    return "\n".join([f"{head} {attributes} {{\n{body}\n}}", *texts])


@cache
def wanted() -> list[Array]:
    made: list[Array] = []
    for _, arrays, types, result, body in CASES:
        text = "func.func @main" + kernel(types, result, body, len(arrays[0]))
        with np.errstate(all="ignore"):
            made += run(nn_opt.parse(text), arrays)
    return made


def feeds() -> list[Array]:
    return [np.asarray(array) for _, arrays, *_ in CASES for array in arrays]


def module() -> ModuleOp:
    return nn_opt.parse(program())


def assert_right(outputs: Sequence[Array]) -> None:
    for (name, *_), made, right in zip(CASES, outputs, wanted(), strict=True):
        exact = right.dtype.kind in "ib" or not name.startswith("math.")
        rtol = 0 if exact else ULPS
        np.testing.assert_allclose(made, right, rtol=rtol, atol=0, equal_nan=True, err_msg=name)


@pytest.mark.parametrize("target", ["wasm", "x86-64"])
def test_in_this_process(target: str):
    for tool in ("wasmtime", "wasm-ld") if target == "wasm" else ():
        tools.need(tool)
    compiled = nn_opt.compile(module(), target=target, cache=False)
    assert_right(compiled(*feeds()))


@pytest.mark.parametrize("name", ["armv7", "rvv"])
def test_on(name: str, tmp_path: Path):
    named = {f"arg{k}": array for k, array in enumerate(feeds())}
    assert_right(run_foreign(module(), MACHINES[name], named, tmp_path))
