"""Patterns and conversions keep locations; what is left over is named."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import FusedLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.diagnostics import locate
from nn_opt.ir.legality import require_absent
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.rewriting import convert, fuse_locations, rewrite

TEXT = """func.func @f(%a: i32, %c: i1) -> i32 {
  %b = arith.muli %a, %a : i32
  scf.if %c {
    %d = arith.muli %b, %a : i32
  }
  func.return %b : i32
}
"""


def parse(text: str = TEXT):
    return parse_module(make_context(), text, "m.mlir")


class MulIntoAddAndXor(RewritePattern):
    """x * y  ->  (x + y) ^ y"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.MuliOp, rewriter: PatternRewriter, /):
        added = arith.AddiOp(op.lhs, op.rhs)
        rewriter.replace(op, [added, arith.XOrIOp(added, op.rhs)])


def convert_mul(op: arith.MuliOp, rewriter: PatternRewriter) -> None:
    added = arith.AddiOp(op.lhs, op.rhs)
    rewriter.replace(op, [added, arith.XOrIOp(added, op.rhs)])


def places(module: Operation, name: str) -> list[str]:
    return [locate(op) for op in module.walk() if op.name == name]


@pytest.mark.parametrize("once", [False, True])
def test_rewrite_keeps_locations(once: bool):
    module = parse()
    assert rewrite(module, MulIntoAddAndXor(), once=once, erase_dead=False)
    assert places(module, "arith.muli") == []
    assert places(module, "arith.addi") == ["m.mlir:2:8", "m.mlir:4:10"]
    assert places(module, "arith.xori") == ["m.mlir:2:8", "m.mlir:4:10"]


def test_rewrite_says_that_nothing_changed():
    module = parse("func.func @f() {\n  func.return\n}\n")
    assert not rewrite(module, MulIntoAddAndXor())


def test_convert_keeps_locations():
    module = parse()
    convert(module, {arith.MuliOp: convert_mul})
    assert places(module, "arith.muli") == []
    assert places(module, "arith.addi") == ["m.mlir:2:8", "m.mlir:4:10"]


def test_convert_visits_each_op_once():
    seen: list[str] = []

    def again(op: arith.MuliOp, rewriter: PatternRewriter) -> None:
        seen.append(locate(op))
        rewriter.replace(op, arith.MuliOp(op.lhs, op.rhs))

    convert(parse(), {arith.MuliOp: again})
    assert seen == ["m.mlir:2:8", "m.mlir:4:10"]


def test_convert_skips_what_went_with_its_parent():
    seen: list[str] = []

    def erase(op: Operation, rewriter: PatternRewriter) -> None:
        rewriter.erase(op)

    module = parse()
    parent = next(op for op in module.walk() if op.name == "scf.if")
    convert(module, {type(parent): erase, arith.MuliOp: lambda op, _: seen.append(locate(op))})
    assert seen == ["m.mlir:2:8"]


def test_fused_location_names_both():
    first, second = (op for op in parse().walk() if op.name == "arith.muli")
    fused = fuse_locations(first, second, first)
    assert isinstance(fused, FusedLoc)
    assert list(fused.locations) == [first.location, second.location]
    assert fuse_locations(first, first) == first.location


def test_what_a_conversion_left_is_named():
    with pytest.raises(PassFailedException) as caught:
        require_absent(parse(), ["scf", "cf"], after="convert-loop-to-scf")
    assert str(caught.value).startswith("m.mlir:3:3: error: scf.if: --convert-loop-to-scf")
