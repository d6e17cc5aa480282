"""Watchers see each pattern and rule that is tried, and whether it changed anything."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from xdsl.dialects import arith
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.rewriting import convert, rewrite
from nn_opt.ir.watching import Tried, attempt_of, title_of, watching

TEXT = """func.func @f(%a: i32) -> i32 {
  %b = arith.muli %a, %a : i32
  %c = arith.addi %b, %a : i32
  func.return %c : i32
}
"""


class AddOfMul(RewritePattern):
    """a + b -> a - b, only if the first is a product; muls are looked at and left."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /):
        if isinstance(op.lhs.owner, arith.MuliOp):
            rewriter.replace(op, arith.SubiOp(op.lhs, op.rhs))


@dataclass
class Notes:
    lines: list[str] = field(default_factory=list[str])

    def before_pattern(self, pattern: Tried, op: Operation) -> None:
        self.lines.append(f"{title_of(pattern)} on {op.name}")

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        self.lines.append(f"{title_of(pattern)}: {changed}")


def keep(op: arith.MuliOp, rewriter: PatternRewriter) -> None:
    """Look at a product, and leave it."""


def subtract(op: arith.AddiOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, arith.SubiOp(op.lhs, op.rhs))


def test_patterns_are_seen():
    notes = Notes()
    with watching([notes]):
        rewrite(parse_module(make_context(), TEXT, "m"), AddOfMul())
    assert notes.lines == ["AddOfMul on arith.addi", "AddOfMul: True"]


def test_rules_of_conversions_are_seen():
    notes = Notes()
    module = parse_module(make_context(), TEXT, "m")
    with watching([notes]):
        convert(module, {arith.MuliOp: keep, arith.AddiOp: subtract})
    lines = ["keep on arith.muli", "keep: False", "subtract on arith.addi", "subtract: True"]
    assert notes.lines == lines
    convert(module, {arith.MuliOp: keep})
    assert notes.lines == lines  # nobody looks on any more


def test_an_error_names_what_was_tried_and_where():
    class Fails(RewritePattern):
        name = "fails"

        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /):
            raise KeyError(op.name)

    def fails(op: arith.AddiOp, rewriter: PatternRewriter):
        raise KeyError(op.name)

    note = "m.mlir:3:8: note: arith.addi: fails was tried here"
    with pytest.raises(KeyError) as caught:
        rewrite(parse_module(make_context(), TEXT, "m.mlir"), Fails())
    assert attempt_of(caught.value) == note
    with pytest.raises(KeyError) as caught:
        convert(parse_module(make_context(), TEXT, "m.mlir"), {arith.AddiOp: fails})
    assert attempt_of(caught.value) == note
