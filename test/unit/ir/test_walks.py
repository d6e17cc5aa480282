"""Walks, clones and drops without recursion do what xDSL's do."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.dialects import test as upstream
from xdsl.dialects.builtin import ModuleOp

from nn_opt.ir.checking import check_text

CHECK = """
import random
from xdsl.ir import Block, Operation, Region
from xdsl.dialects.test import TestOp
from xdsl.dialects.builtin import i32
from xdsl.traits import IsolatedFromAbove

ours = {Operation: ("walk", "walk_blocks"), Block: ("walk", "walk_blocks"), Region: ("walk",)}
theirs = {(k, n): getattr(k, n) for k, names in ours.items() for n in names}
their_clone, their_clone_into = Operation.clone, Region.clone_into
rng = random.Random(7)

def op(values, depth):
    operands = [rng.choice(values) for _ in range(rng.randrange(3))] if values else []
    regions = [region(values, depth - 1) for _ in range(rng.randrange(3) if depth else 0)]
    return TestOp(operands=operands, result_types=[i32] * rng.randrange(3), regions=regions)

def region(values, depth):
    blocks = [Block(arg_types=[i32] * rng.randrange(3)) for _ in range(rng.randrange(4))]
    values = [*values, *(a for b in blocks for a in b.args)]
    made = Region(blocks)
    for block in blocks:
        for _ in range(rng.randrange(4)):
            new = op(values, depth)
            block.add_op(new)
            values.extend(new.results)
        if rng.randrange(2):
            block.add_op(TestOp.create(successors=[rng.choice(blocks)]))
    return made

tops = [op([], 4) for _ in range(60)]
flags = [(r, f) for r in (False, True) for f in (False, True)]
def seen(top):
    found = []
    nodes = [top, *top.regions, *(b for r in top.regions for b in r.blocks)]
    for node in nodes:
        found += [list(node.walk(reverse=r, region_first=f)) for r, f in flags]
        if not isinstance(node, Region):
            found += [list(node.walk_blocks(reverse=r)) for r in (False, True)]
    return found
expected = [seen(top) for top in tops]
copies = [str(top.clone()) for top in tops]
same = [top.is_structurally_equivalent(top.clone()) for top in tops]
from nn_opt.ir.walks import install
install()
assert Operation.walk is not theirs[Operation, "walk"]
assert Operation.clone is not their_clone
assert [seen(top) for top in tops] == expected
assert sum(map(len, expected)) > 1000
assert [str(top.clone()) for top in tops] == copies == [str(top) for top in tops]
assert sum(same) > 20
for top, is_same in zip(tops, same):
    copy = top.clone()
    assert top.is_structurally_equivalent(copy) == is_same
    ops = list(copy.walk())
    assert not {id(o) for o in ops} & {id(o) for o in top.walk()}
    values = {v for o in top.walk() for v in o.results}
    assert not values & {v for o in ops for v in o.operands}
    copy.erase()
    assert all(o.parent is None and not o.successors for o in ops)
    assert all(r.first_use is None for o in ops for r in o.results)
print("same")
"""


def test_they_do_what_xdsl_does():
    done = subprocess.run(
        [sys.executable, "-c", CHECK], capture_output=True, text=True, check=False
    )
    assert done.stdout == "same\n", done.stderr


def test_a_walk_sees_what_is_added_behind_it():
    module = ModuleOp([upstream.TestOp(), upstream.TestOp()])
    seen: list[int] = []
    for number, op in enumerate(module.walk()):
        seen.append(number)
        if number == 1:
            module.body.block.add_op(upstream.TestOp())
        if number == 2:
            op.detach()
    assert seen == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["%a", "%x"])
def test_isolation_is_checked(name: str):
    text = (
        "func.func @f(%a: i32) {\n  %x = arith.addi %a, %a : i32\n"
        '  "builtin.module"() ({\n'
        f'    %y = "arith.addi"({name}, {name}) : (i32, i32) -> i32\n'
        "  }) : () -> ()\n  func.return\n}\n"
    )
    (found,) = check_text(text, "m.mlir")
    assert "comes from outside of builtin.module" in found.message
