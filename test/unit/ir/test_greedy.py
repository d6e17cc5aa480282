"""The greedy driver finds what xDSL's finds, folds to one constant, and notices what never ends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i8
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.counters import Counter, counting
from nn_opt.ir.folding import fold_integers
from nn_opt.ir.greedy import roots_of
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.verify import verify
from nn_opt.pipelines import expand, run_passes

BODY = """func.func @f(%x: i32, %y: i32) -> i32 {{
{}
  func.return %r : i32
}}
"""


def parse(*lines: str) -> ModuleOp:
    return parse_module(make_context(), BODY.format("\n".join(lines)), "m.mlir")


def names(module: Operation) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("arith.")]


class MulToAdd(RewritePattern):
    """x * y  ->  x + y"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.MuliOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, arith.AddiOp(op.lhs, op.rhs))


class AddToMul(RewritePattern):
    """x + y  ->  x * y"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, arith.MuliOp(op.lhs, op.rhs))


class OnceUsed(RewritePattern):
    """x ^ y  ->  x | y,  if it is read once"""

    roots = (arith.XOrIOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if op.results[0].has_one_use():
            rewriter.replace(op, arith.OrIOp(op.operands[0], op.operands[1]))


def test_patterns_that_undo_each_other_are_named():
    module = parse("%r = arith.addi %x, %y : i32")
    with pytest.raises(PassFailedException) as caught:
        rewrite(module, MulToAdd(), AddToMul())
    text = str(caught.value)
    assert text.startswith("m.mlir:2:6: error: arith.")
    assert "AddToMul and MulToAdd go on after" in text
    assert "hint: " in text


def test_a_pattern_that_matches_what_it_makes_is_named():
    class Turn(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /):
            rewriter.replace(op, arith.AddiOp(op.rhs, op.lhs))

    reason = "Turn goes on after [0-9]+ rewrites: it matches its own work"
    with pytest.raises(PassFailedException, match=reason):
        rewrite(parse("%r = arith.addi %x, %y : i32"), Turn())


def test_many_rewrites_of_many_ops_are_no_mistake():
    lines = [f"%v{n} = arith.muli %x, %y : i32" for n in range(3000)]
    module = parse(*lines, "%r = arith.muli %x, %y : i32")
    assert rewrite(module, MulToAdd(), erase_dead=False)
    assert names(module) == ["arith.addi"] * 3001


def test_roots():
    assert roots_of(MulToAdd()) is arith.MuliOp
    assert roots_of(OnceUsed()) == (arith.XOrIOp,)

    class Any_(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /): ...

    assert roots_of(Any_()) is Operation


def test_patterns_are_asked_for_their_ops_alone():
    seen: list[str] = []

    class Look(RewritePattern):
        roots = arith.MuliOp

        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
            seen.append(op.name)

    assert not rewrite(
        parse("%a = arith.muli %x, %y : i32", "%r = arith.addi %a, %y : i32"), Look()
    )
    assert seen == ["arith.muli"]


def test_a_value_that_lost_a_reader_is_looked_at_again():
    """The xor is read twice until the dead chain that hangs on it is gone."""
    module = parse(
        "%r = arith.xori %x, %y : i32",
        "%dead = arith.muli %r, %x : i32",
        "%deader = arith.addi %dead, %x : i32",
    )
    assert rewrite(module, OnceUsed())
    assert names(module) == ["arith.ori"]


def test_folded_constants_exist_once():
    lines = [
        "%one = arith.constant 1 : i32",
        "%two = arith.constant 2 : i32",
        *(f"%v{n} = arith.addi %one, %two : i32" for n in range(5)),
        "%a = arith.muli %v0, %x : i32",
        "%b = arith.xori %v1, %a : i32",
        "%r = arith.andi %v2, %b : i32",
    ]
    module = parse(*lines)
    ctx = make_context()
    run_passes(ctx, module, expand("canonicalize"))
    verify(module)
    constants = [op for op in module.walk() if isinstance(op, arith.ConstantOp)]
    assert [str(op.value) for op in constants] == ["3 : i32"]


def test_folded_constants_of_regions_and_types_differ():
    module = parse_module(
        make_context(),
        """func.func @f(%c: i1) -> (i32, i8) {
  %one = arith.constant 1 : i32
  %small = arith.constant 1 : i8
  %s = arith.addi %small, %small : i8
  %r = scf.if %c -> (i32) {
    %a = arith.addi %one, %one : i32
    scf.yield %a : i32
  } else {
    %b = arith.addi %one, %one : i32
    scf.yield %b : i32
  }
  func.return %r, %s : i32, i8
}""",
        "m.mlir",
    )
    run_passes(make_context(), module, expand("canonicalize"))
    verify(module)
    constants = [str(op.value) for op in module.walk() if isinstance(op, arith.ConstantOp)]
    assert sorted(constants) == ["2 : i32", "2 : i32", "2 : i8"]


def test_a_constant_that_went_is_made_again():
    """The sum of the first round dies with its reader; that of the second is a new constant."""
    module = parse(
        "%one = arith.constant 1 : i32",
        "%a = arith.addi %one, %one : i32",
        "%unread = arith.muli %a, %x : i32",
        "%b = arith.addi %one, %one : i32",
        "%r = arith.xori %b, %x : i32",
    )
    run_passes(make_context(), module, expand("canonicalize"))
    verify(module)
    assert names(module) == ["arith.constant", "arith.xori"]


def test_counters_stop_the_driver_and_the_sweep_after_it():
    lines = ("%a = arith.muli %x, %y : i32", "%b = arith.muli %a, %y : i32")
    for limit, left in ((0, 2), (1, 1), (2, 0)):
        module = parse(*lines, "%r = arith.addi %b, %x : i32")
        with counting(Counter(limit)):
            rewrite(module, MulToAdd(), erase_dead=False)
        assert names(module).count("arith.muli") == left


def test_matches_are_counted():
    fired: list[int] = []
    module = parse("%a = arith.muli %x, %y : i32", "%r = arith.muli %a, %y : i32")
    rewrite(module, MulToAdd(), matched=lambda: fired.append(1))
    assert len(fired) == 2


def programs() -> Sequence[str]:
    """Return texts in which a number is folded, dropped or moved in every way that there is."""
    ops = ("addi", "subi", "muli", "divsi", "remui", "andi", "ori", "xori", "shli", "minsi")
    texts: list[str] = []
    for name in ops:
        for left, right in (("%x", "%c"), ("%c", "%x"), ("%c", "%d"), ("%x", "%y")):
            for number in (0, 1, -1, 7):
                texts.append(
                    f"%c = arith.constant {number} : i32\n%d = arith.constant 5 : i32\n"
                    f"%r = arith.{name} {left}, {right} : i32"
                )
    return texts


@pytest.mark.parametrize("text", programs())
def test_canonical_form_is_that_of_xdsl(text: str):
    ctx = make_context()
    ours, theirs = parse(text), parse(text)
    run_passes(ctx, ours, expand("canonicalize"))
    CanonicalizePass().apply(ctx, theirs)
    assert print_module(ours, generic=True) == print_module(theirs, generic=True)


@pytest.mark.parametrize("number", [0, 1, -1, 127, -128])
@pytest.mark.parametrize("kind", [arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp])
def test_sums_wrap_around_as_those_of_xdsl(
    kind: type[arith.SignlessIntegerBinaryOperation], number: int
):
    left, right = (arith.ConstantOp(IntegerAttr(value, i8)) for value in (number, 3))
    op = kind(left, right)
    assert fold_integers(op) == op.fold()
