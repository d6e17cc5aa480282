"""Relinked readers, erased ops and copies are as those of xDSL."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.ir.copying import all_ops, copy_op, set_operands
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.surgery import erase, replace_uses
from nn_opt.ir.verify import verify

TEXT = """func.func @f(%a: i32, %b: i32, %c: i1) -> i32 {
  %x = arith.addi %a, %a : i32
  %y = arith.muli %x, %b : i32
  %z = scf.if %c -> (i32) {
    %i = arith.xori %x, %y : i32
    scf.yield %i : i32
  } else {
    scf.yield %x : i32
  }
  %w = arith.addi %z, %x {note = "kept"} : i32
  func.return %w : i32
}
"""


def parse() -> ModuleOp:
    return parse_module(make_context(), TEXT, "m.mlir")


def readers(value: SSAValue) -> set[tuple[str, int]]:
    return {(use.operation.name, use.index) for use in value.uses}


def assert_linked(root: Operation) -> None:
    """Each operand has a use in the list of its value, and each list holds nothing else."""
    expected: dict[SSAValue, set[tuple[int, int]]] = {}
    for op in root.walk():
        for index, operand in enumerate(op.operands):
            expected.setdefault(operand, set()).add((id(op), index))
    for value, uses in expected.items():
        listed = list(value.uses)
        assert {(id(use.operation), use.index) for use in listed} == uses
        assert len(listed) == len(uses)
        for before, after in pairwise(listed):
            assert after._prev_use is before  # pyright: ignore[reportPrivateUsage]
        assert value.first_use is not None
        assert value.first_use._prev_use is None  # pyright: ignore[reportPrivateUsage]


def values(module: ModuleOp) -> list[SSAValue]:
    function = next(iter(module.ops))
    first = function.regions[0].block
    return [*first.args[:2], *(r for op in first.ops for r in op.results)]


@pytest.mark.parametrize("seed", range(30))
def test_readers_change_as_with_xdsl(seed: int):
    choose = random.Random(seed)
    old, new = choose.choices(range(5), k=2)
    ours, theirs = parse(), parse()
    replace_uses(values(ours)[old], values(ours)[new])
    values(theirs)[old].replace_all_uses_with(values(theirs)[new])
    assert print_module(ours) == print_module(theirs)
    assert readers(values(ours)[new]) == readers(values(theirs)[new])
    assert_linked(ours)


def test_an_unread_value_gives_its_name():
    module = parse()
    _, _, x, *_ = values(module)
    block = Block(arg_types=[x.type])
    replace_uses(x, block.args[0])
    assert block.args[0].name_hint == "x"
    assert x.first_use is None


def test_erase():
    module = parse()
    last = list(next(iter(module.ops)).regions[0].block.ops)[-2]
    with pytest.raises(ValueError, match="still has uses"):
        erase(last)
    module = parse()
    y = values(module)[3]
    assert isinstance(y.owner, Operation)
    erase(y.owner, safe=False)
    assert "muli" not in [op.name for op in module.walk()]
    assert readers(values(module)[1]) == set()


def whole(module: ModuleOp) -> Operation:
    return module.clone()


def by_parts(module: ModuleOp) -> Operation:
    """Copy a module by what clones are made of."""
    mapped: dict[SSAValue, SSAValue] = {}
    copy = copy_op(module, mapped, {}, True)
    module.body.clone_into(copy.regions[0], 0, mapped, {}, clone_operands=False)
    set_operands(all_ops(module.body.blocks), all_ops(copy.regions[0].blocks), mapped)
    return copy


@pytest.mark.parametrize("clone", [whole, by_parts])
def test_copies_share_nothing(clone: Callable[[ModuleOp], Operation]):
    module = parse()
    before = print_module(module, locations=True)
    copy = clone(module)
    verify(copy)
    assert print_module(copy, locations=True) == before
    assert copy.is_structurally_equivalent(module)
    assert_linked(copy)
    assert_linked(module)
    for op in copy.walk():
        op.attributes.clear()
        op.properties.clear()
    assert print_module(module, locations=True) == before


def test_ops_in_order():
    module = parse()
    assert all_ops(module.body.blocks) == list(module.walk())[1:]
