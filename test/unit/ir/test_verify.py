"""Verification: every message has a place; dominance is linear."""

from __future__ import annotations

import time

import pytest
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.dominance import dominator_children, verify_dominance
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import verify


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
    assert "arith.addi at m.mlir:3:8" in text


def test_twin_symbols_name_both_places():
    text = message("func.func private @twin()\nfunc.func private @twin()\n")
    assert text.startswith("m.mlir:2:1: error: func.func: symbol @twin is defined twice")
    assert "first at m.mlir:1:1" in text


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
