"""Operations per second of reading, checking, copying, cleaning and printing a long chain.

    python -m bench.text             chains of 10,000 and 50,000 additions
    python -m bench.text 1000        another length; several may be named

nn-opt and xdsl-opt take turns in this process, each with the limits of garbage collection that its
tool sets; mlir-opt, where there is one, is a process that reports its own times. Medians.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver import COLLECT_AFTER

STEPS = ("parse", "verify", "clone", "cse", "canonicalize", "print")
MLIR_STEPS = {"Parser": "parse", "CSE": "cse", "Canonicalizer": "canonicalize", "Output": "print"}
MLIR_TIME = re.compile(r"^ +([0-9.]+) \([ 0-9.]+%\)  (\w+)$", re.MULTILINE)
Steps = dict[str, Callable[[ModuleOp], object]]


def chain(length: int) -> str:
    """Return a function of many additions, each of the result of the one before."""
    adds = [f"  %v{k + 1} = arith.addi %v{k}, %v{k} : i32" for k in range(length)]
    head, tail = "func.func @f(%v0: i32) -> i32 {", f"  func.return %v{length} : i32\n}}\n"
    return "\n".join([head, *adds, tail])


def nn_opt_steps(text: str) -> tuple[Callable[[], ModuleOp], Steps]:
    """Return how nn-opt reads a text, and what it does to the module."""
    from nn_opt.ir.parsing import make_context, parse_module
    from nn_opt.ir.printing import print_module
    from nn_opt.ir.verify import verify
    from nn_opt.pipelines import expand, run_passes

    ctx = make_context()
    return lambda: parse_module(ctx, text, "chain.mlir"), {
        "verify": verify,
        "clone": lambda module: module.clone(),
        "cse": lambda module: run_passes(ctx, module, expand("cse")),
        "canonicalize": lambda module: run_passes(ctx, module, expand("canonicalize")),
        "print": print_module,
    }


def xdsl_steps(text: str) -> tuple[Callable[[], ModuleOp], Steps]:
    """Return the same of xdsl-opt."""
    from xdsl.context import Context
    from xdsl.dialects.arith import Arith
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.parser import Parser
    from xdsl.printer import Printer
    from xdsl.transforms.canonicalize import CanonicalizePass
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

    ctx = Context()
    for dialect in (Builtin, Func, Arith):
        ctx.load_dialect(dialect)
    return lambda: Parser(ctx, text, "chain.mlir").parse_module(), {
        "verify": lambda module: module.verify(),
        "clone": lambda module: module.clone(),
        "cse": lambda module: CommonSubexpressionElimination().apply(ctx, module),
        "canonicalize": lambda module: CanonicalizePass().apply(ctx, module),
        "print": lambda module: Printer(StringIO()).print_op(module),
    }


def seconds(action: Callable[[], object]) -> float:
    """Return the CPU time of an action."""
    begin = time.process_time()
    action()
    return time.process_time() - begin


def take_turn(parse: Callable[[], ModuleOp], steps: Steps) -> dict[str, float]:
    """Do all steps once, each to a fresh module's state; return their times."""
    gc.collect()
    begin = time.process_time()
    module = parse()
    times = {"parse": time.process_time() - begin}
    for name in STEPS[1:]:
        step = steps[name]
        times[name] = seconds(lambda step=step: step(module))
    return times


def mlir_opt() -> tuple[str, dict[str, str]] | None:
    """Return the command and environment of an installed mlir-opt."""
    environment = dict(os.environ)
    if found := shutil.which("mlir-opt"):
        return found, environment
    package = find_spec("mlir")
    for folder in package.submodule_search_locations or () if package else ():
        command = Path(folder) / "bin" / "mlir-opt"
        if command.exists():
            environment["LD_LIBRARY_PATH"] = str(Path(folder).parent / "llvm" / "lib")
            return str(command), environment
    return None


def mlir_turn(tool: tuple[str, dict[str, str]], text: str) -> dict[str, float]:
    """Run mlir-opt once; return the times it reports."""
    flags = "--mlir-timing --mlir-timing-display=list --mlir-disable-threading --cse --canonicalize"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.mlir"
        path.write_text(text)
        command = [tool[0], *flags.split(), str(path), "-o", os.devnull]
        report = subprocess.run(command, env=tool[1], check=True, capture_output=True, text=True)
    rows = {name: float(value) for value, name in MLIR_TIME.findall(report.stderr)}
    return {step: rows[name] for name, step in MLIR_STEPS.items() if name in rows}


def measure(length: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return operations per second by tool and step."""
    text = chain(length)
    tools = {"nn-opt": (nn_opt_steps(text), COLLECT_AFTER), "xdsl-opt": (xdsl_steps(text), 700)}
    peer = mlir_opt()
    turns: dict[str, list[dict[str, float]]] = {}
    before = gc.get_threshold()
    for _ in range(rounds):
        for name, ((parse, steps), collect_after) in tools.items():
            gc.set_threshold(collect_after, *before[1:])
            turns.setdefault(name, []).append(take_turn(parse, steps))
        if peer is not None:
            turns.setdefault("mlir-opt", []).append(mlir_turn(peer, text))
    gc.set_threshold(*before)
    return {
        name: {step: length / max(median(t[step] for t in rows), 1e-6) for step in rows[0]}
        for name, rows in turns.items()
    }


def table(length: int, figures: dict[str, dict[str, float]]) -> Table:
    """Return the figures as a table."""
    result = Table("step", *figures, title=f"{length:,} ops: thousands a second")
    for step in STEPS:
        cells = (f"{row[step] / 1e3:,.0f}" if step in row else "-" for row in figures.values())
        result.add_row(step, *cells)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, report."""
    parser = argparse.ArgumentParser(prog="python -m bench.text")
    parser.add_argument("lengths", nargs="*", type=int, metavar="OPS", default=[10_000, 50_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    for length in options.lengths:
        Console().print(table(length, measure(length, options.rounds)))


if __name__ == "__main__":
    main()
