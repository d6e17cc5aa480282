"""Diagnostics of a text as data: severity, place, notes."""

from __future__ import annotations

import doctest

import pytest
from xdsl.dialects.builtin import UnknownLoc
from xdsl.utils.exceptions import PassFailedException, VerifyException

from nn_opt.ir import checking
from nn_opt.ir.checking import check_text
from nn_opt.ir.diagnostics import (
    Complaints,
    Diagnostic,
    DiagnosticError,
    diagnostics_of,
    read_diagnostics,
    with_note,
)
from nn_opt.ir.legality import require_absent
from nn_opt.ir.parsing import make_context, parse_module

LOOP = """func.func @f(%a: index, %b: index) {
  scf.for %i = %a to %b step %a {
    scf.for %j = %a to %b step %a {
    }
  }
  scf.for %k = %a to %b step %a {
  }
  %c = arith.constant true
  scf.if %c {
  }
  func.return
}
"""


def test_the_example():
    assert doctest.testmod(checking).failed == 0


def test_a_good_text():
    assert check_text("func.func private @f()\n", "m.mlir") == []


def test_a_syntax_error_has_its_place_and_line():
    (found,) = check_text("func.func @f() {\n  arith.qwzx\n}\n", "m.mlir")
    assert found.position == ("m.mlir", 2, 3)
    assert found.message == "unknown operation 'arith.qwzx'"
    assert found.hint
    assert found.excerpt == "  arith.qwzx\n  ^"


def test_all_undefined_values():
    text = "func.func @f() -> i32 {\n  %c = arith.addi %a, %b : i32\n  func.return %d : i32\n}\n"
    found = check_text(text, "m.mlir")
    assert [d.position for d in found] == [("m.mlir", 2, 8)] * 2 + [("m.mlir", 3, 3)]


def test_what_is_left_is_grouped_by_op():
    module = parse_module(make_context(), LOOP, "m.mlir")
    with pytest.raises(PassFailedException) as caught:
        require_absent(module, "scf", after="convert-loop-to-scf")
    loops, _, branch = diagnostics_of(caught.value)
    assert (loops.op, loops.position) == ("scf.for", ("m.mlir", 2, 3))
    assert [n.place for n in loops.notes] == ["m.mlir:3:5", "m.mlir:6:3"]
    assert (branch.op, branch.position, branch.notes) == ("scf.if", ("m.mlir", 9, 3), ())
    many = "func.func @f(%c: i1) {\n" + "  scf.if %c {\n  }\n" * 6 + "  func.return\n}\n"
    with pytest.raises(PassFailedException) as caught:
        require_absent(parse_module(make_context(), many, "m.mlir"), "scf", after="x")
    branches, _ = diagnostics_of(caught.value)
    assert len(branches.notes) == 4
    assert branches.notes[-1].message == "6 of scf.if are left in all"


def test_text_of_any_error_reads_as_diagnostics():
    text = (
        "m.mlir:1:2: error: graph.add: it is bad\n  %x = graph.add\n   ^\n  hint: do this\n"
        "m.mlir:3:4: note: see here\nfunc\n^\n  note: after --cse\n"
        "m.mlir:9:1: error: not so\nmore of it"
    )
    first, second = read_diagnostics(text)
    assert (first.op, first.message, first.hint) == ("graph.add", "it is bad", "do this")
    assert first.excerpt == "  %x = graph.add\n   ^"
    assert [note.place for note in first.notes] == ["m.mlir:3:4", ""]
    assert second.message == "not so\nmore of it"
    assert f"{first}\n{second}" == text
    (bare,) = read_diagnostics("it is bad")
    assert (bare.severity, bare.place, bare.message) == ("error", "", "it is bad")


def test_a_note_keeps_the_parts():
    what = Complaints([Diagnostic("error", "a:1:1", "one"), Diagnostic("error", "b:1:1", "two")])
    noted = DiagnosticError(with_note(VerifyException(what), "after --cse"))
    assert [len(d.notes) for d in noted.diagnostics] == [0, 1]
    assert str(noted) == "a:1:1: error: one\nb:1:1: error: two\n  note: after --cse"


def test_a_long_message_is_cut():
    found = Diagnostic("error", "a:1:1", "x" * 100_000)
    assert len(str(found)) < 5000
    assert str(found).endswith("... (100000 characters)")


def test_ops_of_no_line_have_a_summary():
    module = parse_module(make_context(), LOOP, "m.mlir")
    for op in module.walk():
        op.location = UnknownLoc()
    with pytest.raises(PassFailedException) as caught:
        require_absent(module, "arith", after="convert-loop-to-scf")
    (found,) = diagnostics_of(caught.value)
    shown = 'see current operation: %c = "arith.constant"() {value = true} : () -> (i1)'
    assert found.notes[0].message == shown
