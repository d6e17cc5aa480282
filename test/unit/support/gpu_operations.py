"""Every operation as kernels: a module of the gpu level, and what the interpreter runs instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import nn_opt

Case = tuple[str, list[Any], list[str], str, str]
TOGETHER = 8  # cases in one kernel: compilers take their time for each


def host_module(types: Sequence[str], result: str, body: str, count: int) -> ModuleOp:
    """Return what the interpreter runs: a loop over elements."""
    names = "abc"[: len(types)]
    arguments = ", ".join(f"%{n}0: memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    return nn_opt.parse(f"""func.func @main({arguments}, %out0: memref<{count}x{result}>)
    attributes {{num_outputs = 1 : i64}} {{
  loop.for %i = 0 to {count} {{
{work(0, types, result, body, count)}
  }}
  func.return
}}""")


def work(number: int, types: Sequence[str], result: str, body: str, count: int) -> str:
    loads = "".join(
        f"    %{n} = loop.load %{n}{number}[%i] : memref<{count}x{t}>\n"
        for n, t in zip("abc", types, strict=False)
    )
    return f"{loads}    {body}\n    loop.store %r, %out{number}[%i] : memref<{count}x{result}>"


def buffers(number: int, case: Case) -> dict[str, str]:
    """Return the names and types of what a case reads, then what it writes."""
    _, arrays, types, result, _ = case
    names = [*(f"%{n}{number}" for n in "abc"[: len(types)]), f"%out{number}"]
    return {
        name: f"memref<{len(arrays[0])}x{type_}>"
        for name, type_ in zip(names, [*types, result], strict=True)
    }


def gpu_module(cases: Sequence[Case]) -> ModuleOp:
    """Return a module with kernels that do some cases each, a thread for each element."""
    numbered = list(enumerate(cases))
    groups = [numbered[k : k + TOGETHER] for k in range(0, len(numbered), TOGETHER)]
    kernels: list[str] = []
    launches: list[str] = []
    for number, group in enumerate(groups):
        threads = max(len(case[1][0]) for _, case in group)
        given = {n: t for k, case in group for n, t in buffers(k, case).items()}
        heads = ", ".join(f"{n}: {t}" for n, t in given.items())
        bodies = "".join(
            f"loop.if ({len(arrays[0]) - 1} - %i >= 0) {{\n"
            f"{work(k, types, result, body, len(arrays[0]))}\n}}\n"
            for k, (_, arrays, types, result, body) in group
        )
        kernels.append(f"""gpu.func @k{number}({heads}) kernel attributes {{
  known_block_size = array<i32: {threads}, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
    %i = gpu.thread_id x
{bodies}
    gpu.return
}}""")
        passed = ", ".join(f"{n} : {t}" for n, t in given.items())
        launches.append(f"""%n{number} = arith.constant {threads} : index
gpu.launch_func @kernels::@k{number} blocks in (%one, %one, %one)
  threads in (%n{number}, %one, %one) args({passed})""")
    rows = [list(buffers(k, case).items()) for k, case in numbered]
    arguments = [f"{n}: {t}" for row in rows for n, t in row[:-1]]
    results = [f"{row[-1][0]}: {row[-1][1]}" for row in rows]
    return nn_opt.parse(f"""builtin.module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
{chr(10).join(kernels)}
}}
func.func @main({", ".join([*arguments, *results])})
    attributes {{num_outputs = {len(cases)} : i64}} {{
%one = arith.constant 1 : index
{chr(10).join(launches)}
func.return
}}
}}""")


def has_f64(case: Case) -> bool:
    return "f64" in (*case[2], case[3])
