"""What is made, merged or read has a location."""

from __future__ import annotations

import pytest
from upstream import require_tools, tool
from xdsl.dialects import arith
from xdsl.dialects.builtin import FusedLoc, ModuleOp, UnknownLoc, i32
from xdsl.ir import Block, Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

import nn_opt
from nn_opt.ir.diagnostics import locate
from nn_opt.ir.locations import (
    MAX_FUSED,
    carry_location,
    file_place,
    fuse_locations,
    located,
    node_names,
    place_of,
)
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.rewriting import convert, rewrite
from nn_opt.passes.canonicalize import CanonicalizePass
from nn_opt.passes.cse import CsePass


def parse(text: str) -> ModuleOp:
    return parse_module(make_context(), text, "m.mlir")


def find(module: Operation, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def a_constant() -> Operation:
    return arith.ConstantOp.from_int_and_width(1, i32)


class Fault(Exception):
    """What a rewrite may end with."""


CHAIN = """func.func @f(%a: i32) -> i32 {
  %b = arith.muli %a, %a : i32 loc("inner")
  %c = arith.addi %b, %a : i32 loc("outer")
  func.return %c : i32
}
"""


def test_what_is_made_inside_has_the_location_and_outside_none():
    (origin,) = find(parse(CHAIN), "arith.muli")
    with located(origin):
        made = a_constant()
        with located(origin.location):
            pass
        also = a_constant()
    assert made.location is also.location is origin.location
    assert isinstance(a_constant().location, UnknownLoc)


def test_an_error_ends_it_too():
    module = parse(CHAIN)

    def fail(op: Operation, rewriter: PatternRewriter) -> None:
        raise Fault

    class Fail(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
            raise Fault

    with pytest.raises(Fault), located(find(module, "arith.muli")[0]):
        raise Fault
    with pytest.raises(Fault):
        convert(module, {arith.MuliOp: fail})
    with pytest.raises(Fault):
        rewrite(module, Fail())
    assert isinstance(a_constant().location, UnknownLoc)


def test_a_location_given_or_copied_stays():
    first, second = (find(parse(CHAIN), name)[0] for name in ("arith.muli", "arith.addi"))
    with located(first):
        assert second.clone().location is second.location
        assert arith.AddiOp.create(location=second.location).location is second.location


def test_carried_into_regions_but_over_no_other():
    inner, known = a_constant(), a_constant()
    known.location = find(parse(CHAIN), "arith.muli")[0].location
    outer = ModuleOp(Region(Block([inner, known])))
    carry_location(find(parse(CHAIN), "arith.addi")[0].location, [outer])
    assert [str(op.location) for op in outer.walk()] == [
        'loc("outer")',
        'loc("outer")',
        'loc("inner")',
    ]


def test_fused_is_flat_without_unknown_or_equal_parts():
    text = """
    %0 = arith.constant 0 : i32 loc("a")
    %1 = arith.constant 1 : i32 loc(fused["b", fused["c", "a"], unknown])
    %2 = arith.constant 2 : i32 loc(unknown)
    """
    a, b, unknown = find(parse(text), "arith.constant")
    assert str(fuse_locations(unknown, a, b, a)) == 'loc(fused["a", "b", "c"])'
    assert fuse_locations(unknown, a) is a.location
    assert isinstance(fuse_locations(unknown), UnknownLoc)


def test_of_many_the_first_are_kept():
    ops = [f'%{k} = arith.constant {k} : i32 loc("n{k}")' for k in range(MAX_FUSED + 5)]
    place = fuse_locations(*find(parse("\n".join(ops)), "arith.constant"))
    assert isinstance(place, FusedLoc)
    assert list(node_names(place)) == [f"n{k}" for k in range(MAX_FUSED)]


def test_names_of_weights_are_no_nodes():
    text = '%0 = arith.constant 0 : i32 loc(fused["w"("m.onnx":0:0), "n"("m.onnx":3:1)])'
    (op,) = find(parse(text), "arith.constant")
    assert list(node_names(op.location)) == ["n"]
    assert locate(op) == "value 'w'"
    assert file_place(op.location) == ("m.onnx", 0, 0)


def test_an_argument_is_where_its_block_is_unless_it_says():
    text = 'func.func @f(%a: i32 loc("x"), %b: i32) {\n  func.return\n}'
    (function,) = find(parse(text), "func.func")
    first, second = function.regions[0].block.args
    assert str(place_of(first)) == 'loc("x")'
    assert place_of(second) == function.location


class MulThenAdd(RewritePattern):
    """x * y + z  ->  (x ^ y) ^ z"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /):
        product = op.lhs.owner
        assert isinstance(product, arith.MuliOp)
        first = arith.XOrIOp(product.lhs, product.rhs)
        rewriter.replace(op, [first, arith.XOrIOp(first, op.rhs)])


@pytest.mark.parametrize("once", [False, True])
def test_what_replaces_several_ops_has_all_locations(once: bool):
    module = parse(CHAIN)
    assert rewrite(module, MulThenAdd(), once=once)
    assert [str(op.location) for op in find(module, "arith.xori")] == [
        'loc(fused["outer", "inner"])'
    ] * 2


def test_an_operand_that_is_still_read_keeps_its_location_for_itself():
    module = parse(
        CHAIN.replace("func.return %c", "func.call @f(%b) : (i32) -> i32\n  func.return %c")
    )
    assert rewrite(module, MulThenAdd())
    assert [str(op.location) for op in find(module, "arith.xori")] == ['loc("outer")'] * 2


def test_cse_keeps_the_locations_of_all_that_were_equal():
    lines = "\n".join(f'  %{k} = arith.addi %a, %a : i32 loc("n{k}")' for k in range(3))
    module = parse(f"func.func @f(%a: i32) {{\n{lines}\n  func.return\n}}")
    CsePass().apply(make_context(), module)
    assert [str(op.location) for op in find(module, "arith.addi")] == [
        'loc(fused["n0", "n1", "n2"])'
    ]


def test_a_folded_constant_is_located():
    module = parse("""func.func @f() -> i32 {
      %a = arith.constant 2 : i32
      %b = arith.addi %a, %a : i32 loc("sum")
      func.return %b : i32
    }""")
    CanonicalizePass().apply(make_context(), module)
    (constant,) = find(module, "arith.constant")
    assert "sum" in list(node_names(constant.location))


def test_a_terminator_that_is_left_out_is_where_its_op_is():
    module = parse("func.func @f(%c: i1) {\n  scf.if %c {\n  }\n  func.return\n}")
    assert [locate(op) for op in find(module, "scf.yield")] == ["m.mlir:2:3"]


def test_mlir_reads_what_is_printed_and_is_read():
    require_tools()
    text = """func.func @f(%a: i32 loc("x":7:8), %b: i32) -> i32 {
      %0 = arith.addi %a, %b : i32 loc("name"("g.py":1:2))
      %1 = arith.addi %0, %b : i32 loc(callsite("callee"("f":1:2) at "f":3:4))
      %2 = arith.addi %1, %b : i32 loc(fused<"why">["a", "b"("f":1:2)])
      func.return %2 : i32 loc(unknown)
    } loc("f":9:1)
    """
    module = parse(text)
    printed = print_module(module, generic=True, locations=True)
    for options in ([], ["--mlir-print-op-generic"], ["--mlir-print-local-scope"]):
        theirs = tool("mlir-opt", "--mlir-print-debuginfo", *options, text=printed)
        places = [str(op.location) for op in parse(theirs).walk()][1:]
        assert places == [str(op.location) for op in module.walk()][1:]
        assert 'loc("x":7:8)' in print_module(parse(theirs), locations=True)


def test_aliases_may_be_defined_before_use():
    text = '#a = loc("a")\n#b = loc("b"(#a))\n%0 = arith.constant 0 : i32 loc(#b)'
    (op,) = find(parse(text), "arith.constant")
    assert str(op.location) == 'loc("b"("a"))'


def test_the_public_parser_locates():
    module = nn_opt.parse("func.func @f() {\n  func.return\n}\n")
    assert [locate(op) for op in module.walk()] == ["<text>:1:1", "<text>:1:1", "<text>:2:3"]
