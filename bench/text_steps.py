"""What nn-opt and xdsl-opt do to a module, step by step; each in a process of its own.

    python -m bench.text_steps xdsl-opt m.mlir

prints the CPU seconds of each step, as JSON. nn-opt puts walks and copies of its own in the place
of xDSL's, so that the two would not be measured fairly in one process.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TypeAlias

from xdsl.dialects.arith import NegfOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

STEPS = ("parse", "verify", "clone", "cse", "rewrite", "canonicalize", "dce", "print")
Steps: TypeAlias = dict[str, Callable[[ModuleOp], object]]


class DropDoubleNegation(RewritePattern):
    """-(-x)  ->  x, for ops that the programs do not have: what looking costs"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NegfOp, rewriter: PatternRewriter, /):
        if isinstance(inner := op.operand.owner, NegfOp):
            rewriter.replace(op, (), [inner.operand])


def nn_opt_steps(text: str) -> tuple[Callable[[], ModuleOp], Steps]:
    """Return how nn-opt reads a text, and what it does to the module."""
    from nn_opt.driver import COLLECT_AFTER
    from nn_opt.ir.parsing import make_context, parse_module
    from nn_opt.ir.printing import print_module
    from nn_opt.ir.rewriting import rewrite
    from nn_opt.ir.verify import verify
    from nn_opt.pipelines import expand, run_passes

    gc.set_threshold(COLLECT_AFTER, 20, 50)
    ctx = make_context()

    def run(name: str) -> Callable[[ModuleOp], object]:
        passes = expand(name)
        return lambda module: run_passes(ctx, module, passes)

    return lambda: parse_module(ctx, text, "m.mlir"), {
        "verify": verify,
        "clone": lambda module: module.clone(),
        "cse": run("cse"),
        "rewrite": lambda module: rewrite(module, DropDoubleNegation()),
        "canonicalize": run("canonicalize"),
        "dce": run("dce"),
        "print": print_module,
    }


def xdsl_steps(text: str) -> tuple[Callable[[], ModuleOp], Steps]:
    """Return the same of xdsl-opt."""
    from xdsl.context import Context
    from xdsl.dialects.arith import Arith
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.dialects.memref import MemRef
    from xdsl.dialects.scf import Scf
    from xdsl.parser import Parser
    from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker
    from xdsl.printer import Printer
    from xdsl.transforms.canonicalize import CanonicalizePass
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
    from xdsl.transforms.dead_code_elimination import DeadCodeElimination

    ctx = Context()
    for dialect in (Builtin, Func, Arith, MemRef, Scf):
        ctx.load_dialect(dialect)
    greedy = GreedyRewritePatternApplier([DropDoubleNegation()])
    return lambda: Parser(ctx, text, "m.mlir").parse_module(), {
        "verify": lambda module: module.verify(),
        "clone": lambda module: module.clone(),
        "cse": lambda module: CommonSubexpressionElimination().apply(ctx, module),
        "rewrite": lambda module: PatternRewriteWalker(greedy).rewrite_module(module),
        "canonicalize": lambda module: CanonicalizePass().apply(ctx, module),
        "dce": lambda module: DeadCodeElimination().apply(ctx, module),
        "print": lambda module: Printer(StringIO()).print_op(module),
    }


TOOLS = {"nn-opt": nn_opt_steps, "xdsl-opt": xdsl_steps}


def take_turn(parse: Callable[[], ModuleOp], steps: Steps) -> dict[str, float]:
    """Do all steps once, each to what the one before left; return their times."""
    begin = time.process_time()
    module = parse()
    times = {"parse": time.process_time() - begin}
    for name in STEPS[1:]:
        begin = time.process_time()
        steps[name](module)
        times[name] = time.process_time() - begin
    return times


def main(tool: str, path: str) -> None:
    """Measure one tool with one file; a small module goes before it, to load what is lazy."""
    small = "func.func @f(%x: i32) { %y = arith.addi %x, %x : i32\n func.return }"
    take_turn(*TOOLS[tool](small))
    print(json.dumps(take_turn(*TOOLS[tool](Path(path).read_text()))))


if __name__ == "__main__":
    main(*sys.argv[1:])
