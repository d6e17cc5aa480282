"""Verification: every message has a place; dominance is linear."""

from __future__ import annotations

import random
import time

import pytest
from xdsl.dialects import arith
from xdsl.dialects import test as upstream
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import diagnostics_of
from nn_opt.ir.dominance import dominator_children, verify_dominance
from nn_opt.ir.op_checks import OpChecks
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import problems_of, verify


def parse(text: str):
    return parse_module(make_context(allow_unregistered=True), text, "m.mlir")


def message(text: str) -> str:
    with pytest.raises(VerifyException) as caught:
        verify(parse(text))
    return str(caught.value)


def test_use_before_definition_names_both():
    text = message(
        "func.func @f(%a: i32) -> i32 {\n  %c = arith.addi %b, %a : i32\n"
        "  %b = arith.addi %a, %a : i32\n  func.return %c : i32\n}\n"
    )
    assert text.startswith("m.mlir:2:8: error: arith.addi: operand #0 (%b)")
    assert "m.mlir:3:8: note: %b is defined here, by arith.addi" in text


def test_twin_symbols_name_both_places():
    text = message("func.func private @twin()\nfunc.func private @twin()\n")
    assert text.startswith("m.mlir:2:1: error: func.func: symbol @twin is defined twice")
    assert "m.mlir:1:1: note: previous definition is here" in text


def test_value_from_outside_of_an_isolated_op():
    module = parse(
        "func.func @f(%a: i32) {\n  func.return\n}\nfunc.func @g() {\n"
        '  %k = arith.constant 1 : i32\n  "t.use"(%k) : (i32) -> ()\n  func.return\n}\n'
    )
    first, second = module.ops
    use = next(op for op in second.walk() if op.name.endswith("unregistered"))
    use.operands = [first.regions[0].block.args[0]]
    with pytest.raises(VerifyException, match=r"comes from outside of func\.func"):
        verify_dominance(module)


def test_op_in_an_outer_block_is_visible_inside():
    verify(
        parse(
            "func.func @f(%c: i1, %a: i32) {\n  scf.if %c {\n"
            "    %b = arith.addi %a, %a : i32\n  }\n  func.return\n}\n"
        )
    )


def test_dominator_tree_of_a_diamond_with_a_loop():
    module = parse(
        "func.func @f(%c: i1) {\n  cf.cond_br %c, ^a, ^b\n^a:\n  cf.br ^j\n^b:\n  cf.br ^j\n"
        "^j:\n  cf.cond_br %c, ^a, ^e\n^e:\n  func.return\n}\n"
    )
    (function,) = module.ops
    entry, a, b, join, end = function.regions[0].blocks
    children = dominator_children(function.regions[0])
    assert set(children[entry]) == {a, b, join}
    assert children[join] == [end]


def test_dominance_of_many_ops_is_quick():
    count = 20_000
    lines = [f"  %v{k + 1} = arith.addi %v{k}, %v{k} : i32" for k in range(count)]
    body = "\n".join(lines)
    module = parse(f"func.func @f(%v0: i32) -> i32 {{\n{body}\n  func.return %v{count} : i32\n}}\n")
    start = time.process_time()
    verify_dominance(module)
    assert time.process_time() - start < 2.0  # 0.05 s here; a quadratic check takes minutes


def places(text: str) -> list[str]:
    return [d.place for d in problems_of(parse(text))]


MANY_FAULTS = """func.func @f(%a: i32) -> i32 {
  %x = "t.dim"() {k = 1} : () -> i32
  %c = arith.addi %b, %a : i32
  %b = arith.addi %a, %a : i32
}
func.func private @twin()
func.func @g(%c: i1, %a: i32) -> i32 {
  scf.if %c {
    %d = arith.addi %a, %a : i32
    "t.last"() : () -> ()
    %e = arith.muli %f, %f : i32
    scf.yield
  }
  %f = arith.constant 1 : i32
  func.return %c : i1
}
func.func private @twin()
"""


def test_a_fault_hides_no_other_one():
    assert places(MANY_FAULTS) == [
        f"m.mlir:{place}" for place in ("3:8", "4:8", "11:10", "15:3", "17:1")
    ]


def test_a_use_is_refused_once_an_op():
    assert places(MANY_FAULTS).count("m.mlir:11:10") == 1


def test_twenty_errors_are_shown_and_the_rest_counted():
    ops = "  func.func private @f()\n" * 23
    with pytest.raises(VerifyException) as caught:
        verify(parse(ops))
    lines = str(caught.value).split("\n")
    assert sum(": error: " in line for line in lines) == 20
    assert lines[-1] == "  note: 2 more errors"
    assert len(diagnostics_of(caught.value)) == 22


def test_a_check_that_stumbles_over_another_fault_is_silent(monkeypatch: pytest.MonkeyPatch):
    module = parse("func.func @f(%a: i32) {\n  %b = arith.addi %a, %a : i32\n  func.return\n}\n")

    def stumble(self: OpChecks, op: Operation) -> None:
        raise IndexError("of what is not there")

    monkeypatch.setattr(OpChecks, "run", stumble)
    with pytest.raises(IndexError):
        verify(module)
    module.body.block.add_op(FuncOp.external("f", [], []))
    with pytest.raises(VerifyException, match="symbol @f is defined twice"):
        verify(module)


def test_an_op_of_no_line_is_shown_itself():
    module = parse("func.func @f(%a: i32) {\n  func.return\n}\n")
    (function,) = module.ops
    argument = function.regions[0].block.args[0]
    late = arith.AddiOp(argument, argument)
    late.result.name_hint = "late"
    user = arith.MuliOp(late.result, argument)
    end = function.regions[0].block.last_op
    assert end is not None
    function.regions[0].block.insert_ops_before([user, late], end)
    (problem,) = problems_of(module)
    assert problem.place == "<unknown location>"
    shown = '"arith.muli"(%late, %a)'
    assert any(f"see current operation: %_ = {shown}" in note.message for note in problem.notes)


def test_branches_to_another_region_hide_no_other_function():
    module = parse(
        "func.func @f() {\n  cf.br ^a\n^a:\n  func.return\n}\n"
        "func.func @g(%a: i32) -> i32 {\n  %c = arith.addi %b, %a : i32\n"
        "  %b = arith.addi %a, %a : i32\n  func.return %c : i32\n}\n"
    )
    first, second = module.ops
    branch = next(op for op in first.walk() if op.name == "cf.br")
    branch.successors = [second.regions[0].blocks[0]]
    assert [d.place for d in problems_of(module)] == ["m.mlir:2:3", "m.mlir:7:8"]


def test_dominators_are_those_of_the_definition():
    """A block dominates another one if no path from the entry leads around it."""
    rng = random.Random(3)
    for _ in range(200):
        blocks = [Block() for _ in range(rng.randrange(2, 12))]
        for block in blocks:
            targets = [rng.choice(blocks) for _ in range(rng.randrange(4))]
            block.add_op(upstream.TestTermOp(successors=targets))
        children = dominator_children(Region(blocks))
        reachable = reached_without(blocks[0], None)
        assert set(children) == reachable
        for block in reachable:
            dominated = reachable - reached_without(blocks[0], block)
            assert set(below(children, block)) == dominated


def reached_without(entry: Block, gap: Block | None) -> set[Block]:
    seen: set[Block] = set()
    pending = [entry]
    while pending:
        block = pending.pop()
        if block in seen or block is gap:
            continue
        seen.add(block)
        assert block.last_op is not None
        pending += block.last_op.successors
    return seen


def below(children: dict[Block, list[Block]], block: Block) -> list[Block]:
    found = [block]
    for inner in found:
        found += children[inner]
    return found
