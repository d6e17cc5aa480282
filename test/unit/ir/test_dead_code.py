"""One sweep finds what xDSL finds in rounds, and what dead ops held alive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.transforms.dead_code_elimination import region_dce
from xdsl.utils.exceptions import DiagnosticException, ParseError

from nn_opt.ir.dead_code import erase_dead_code, is_dead
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify

LIT = Path(__file__).resolve().parents[2] / "lit"
FOLDERS = ("passes", "conversion", "dialects")


def parse(text: str) -> ModuleOp:
    return parse_module(make_context(), text, "m.mlir")


def names(module: Operation) -> list[str]:
    return [op.name for op in module.walk()][1:]


def modules(folder: str) -> Iterator[ModuleOp]:
    for path in sorted((LIT / folder).rglob("*.mlir")):
        for text in path.read_text(encoding="utf-8").split("// -----\n"):
            try:
                module = parse(text)
                verify(module)
            except (DiagnosticError, DiagnosticException, ParseError, ValueError):
                continue
            yield module


@pytest.mark.parametrize("folder", FOLDERS)
def test_files(folder: str):
    """At least what xDSL erases goes; a second sweep finds nothing more."""
    for module in modules(folder):
        ours, theirs = module.clone(), module.clone()
        while region_dce(theirs.body):
            pass
        erase_dead_code(ours.body)
        assert print_module(ours) == print_module(theirs)
        assert not erase_dead_code(ours.body)


def test_blocks_that_no_path_reaches_go():
    module = parse(
        """func.func @f(%c: i1) {
  cf.br ^end
^a:
  %x = arith.constant 1 : i32
  cf.br ^b(%x : i32)
^b(%y: i32):
  "test.keep"(%y) : (i32) -> ()
  cf.cond_br %c, ^a, ^b(%y : i32)
^end:
  func.return
}""".replace('"test.keep"(%y) : (i32) -> ()', "%z = arith.addi %y, %y : i32")
    )
    gone: list[str] = []
    listener = PatternRewriterListener(
        operation_removal_handler=[lambda op: gone.append(op.name)],
    )
    assert erase_dead_code(module.body, listener)
    verify(module)
    assert names(module) == ["func.func", "cf.br", "func.return"]
    assert sorted(gone) == ["arith.addi", "arith.constant", "cf.br", "cf.cond_br"]


def test_what_only_dead_regions_read_goes_with_them():
    module = parse("""func.func @f(%c: i1, %x: i32) {
  %a = arith.addi %x, %x : i32
  %r = scf.if %c -> (i32) {
    %b = arith.muli %a, %a : i32
    scf.yield %b : i32
  } else {
    scf.yield %a : i32
  }
  func.return
}""")
    assert erase_dead_code(module.body)
    assert names(module) == ["func.func", "func.return"]


@pytest.mark.parametrize(
    ("inner", "dead"),
    [
        ("%v = memref.load %m[%i] : memref<4xi32>", True),
        ("memref.store %x, %m[%i] : memref<4xi32>", False),
        ("func.call @g() : () -> ()", False),
        ("scf.for %k = %i to %i step %i { %w = arith.addi %x, %x : i32 }", True),
        ("scf.for %k = %i to %i step %i { memref.store %x, %m[%i] : memref<4xi32> }", False),
        ("%b = memref.alloc() : memref<4xi32>", False),
    ],
)
def test_a_loop_is_dead_if_nothing_in_it_has_an_effect(inner: str, dead: bool):
    module = parse(f"""func.func private @g()
func.func @f(%m: memref<4xi32>, %i: index, %x: i32) {{
  scf.for %j = %i to %i step %i {{
    {inner}
  }}
  func.return
}}""")
    loop = next(op for op in module.walk() if op.name == "scf.for")
    assert is_dead(loop, {}) is dead
    theirs = module.clone()
    region_dce(theirs.body)
    assert any(op.name == "scf.for" for op in theirs.walk()) is not dead


def test_a_graph_region_is_read_in_any_order():
    module = parse(
        """"test.graph"() ({
  %a = arith.addi %b, %b : i32
  %b = arith.constant 1 : i32
}) : () -> ()""".replace('"test.graph"', '"builtin.module"')
    )
    assert erase_dead_code(module.body)
    assert "arith.constant" not in names(module)
