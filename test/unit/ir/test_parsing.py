"""Text to module: places, messages, depth, line ends."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.printer import Printer

from nn_opt.ir.diagnostics import DiagnosticError, locate
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module

ADD = "func.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a, %a : i32\n  func.return %b : i32\n}\n"


def parse(text: str):
    return parse_module(make_context(), text, "m.mlir")


def message(text: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    return str(caught.value)


def test_op_is_located_at_its_name():
    places = {op.name: locate(op) for op in parse(ADD).walk()}
    assert places["arith.addi"] == "m.mlir:2:8"
    assert places["func.return"] == "m.mlir:3:3"
    assert places["func.func"] == "m.mlir:1:1"


def test_explicit_location_wins():
    module = parse('func.func private @f() loc("net.onnx":7:1)\n')
    (function,) = module.ops
    assert isinstance(function.location, FileLineColLoc)
    assert locate(function) == "net.onnx:7:1"


def test_location_survives_printing():
    text = print_module(parse(ADD), locations=True)
    assert 'loc("m.mlir":2:8)' in text
    places = {op.name: locate(op) for op in parse(text).walk()}
    assert places["arith.addi"] == "m.mlir:2:8"


def test_syntax_error_has_line_and_caret():
    text = ADD.replace("%a, %a", "%a %a")
    lines = message(text).split("\n")
    assert lines[0].startswith("m.mlir:2:22: error: ")
    assert lines[1] == "  %b = arith.addi %a %a : i32"
    assert lines[2] == " " * 21 + "^"


def test_carriage_returns_change_nothing():
    broken = ADD.replace("%a, %a", "%a %a")
    assert message(broken.replace("\n", "\r\n")) == message(broken)
    assert print_module(parse(ADD.replace("\n", "\r\n"))) == print_module(parse(ADD))


def test_unknown_operation_gets_a_suggestion():
    text = message(ADD.replace("arith.addi", "arith.addii"))
    assert text.startswith("m.mlir:2:8: error: unknown operation 'arith.addii'")
    assert "did you mean arith.addi?" in text


def test_unknown_dialect_gets_the_flag():
    text = message('func.func @f() {\n  "acme.widget"() : () -> ()\n  func.return\n}\n')
    assert text.startswith("m.mlir:2:3: error: ")
    assert "--allow-unregistered-dialect" in text


def test_empty_text_is_an_empty_module():
    assert not list(parse("// nothing\n").ops)


@pytest.mark.parametrize("depth", [300, 1000])
def test_deep_nesting(depth: int):
    text = "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * depth + "}\n" * depth + "func.return\n}\n"
    assert print_module(parse(text)).count("scf.if") == depth


@pytest.mark.parametrize("brackets", ["[]", "<>", "{}"])
def test_attributes_nested_too_deeply_are_a_message(brackets: str):
    depth = 100_000
    opening = {"[": "[", "<": "tuple<", "{": "{k = "}[brackets[0]]
    text = f"func.func private @f() attributes {{a = {opening * depth}{brackets[1] * depth}}}"
    problem = "error: types, attributes or locations are nested too deeply"
    assert message(text).split("\n")[0].endswith(problem)


def test_refused_attribute_is_located():
    text = message("func.func @f() {\n  %a = arith.constant 300 : i8\n  func.return\n}\n")
    assert text.startswith("m.mlir:2:")


def test_width_of_integers_is_limited_as_in_mlir():
    text = message("func.func @f() {\n  %a = arith.constant 1 : i99999999999\n  func.return\n}\n")
    assert text.startswith("m.mlir:2:27: error: integer bitwidth is limited to 16777215 bits")


def test_open_string_is_a_message_at_once():
    text = message('func.func private @f() attributes {note = "' + "index, " * 40 + "}\n")
    assert text.startswith("m.mlir:1:43: error: ")
    assert "string" in text


def test_location_of_a_graph_op_survives_printing():
    module = parse(
        "func.func @f(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {\n"
        "  %y = graph.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
        "  func.return %y : tensor<3x2xf32>\n}\n"
    )
    text = print_module(module, locations=True)
    places = {op.name: locate(op) for op in parse(text).walk()}
    assert places["graph.transpose"] == "m.mlir:2:8"


@pytest.mark.parametrize("generic", [True, False])
def test_printed_text_is_that_of_xdsl(generic: bool):
    lit = Path(__file__).resolve().parents[2] / "lit" / "passes"
    ctx = make_context(allow_unregistered=True)
    for path in sorted(lit.rglob("*.mlir"))[:40]:
        text = path.read_text().split("// -----\n")[0]
        module = parse_module(ctx, text, path.name)
        stream = StringIO()
        Printer(stream, print_generic_format=generic).print_op(module)
        assert print_module(module, generic=generic) == stream.getvalue() + "\n"


RESOURCE_TEXT = """%c = arith.constant dense_resource<weights> : tensor<1xf32>
%d = arith.constant dense_resource<weights> : tensor<1xf32>

{-#
  dialect_resources: {
    builtin: {
      weights: "0x04000000BLOB0000"
    }
  }
#-}
"""


def test_dense_resources_of_one_name_in_two_texts():
    """xDSL keeps them for all texts of a process, and loses those of the second one."""
    texts = [RESOURCE_TEXT.replace("BLOB", blob) for blob in ("AAAA", "BBBB")]
    modules = [parse(text) for text in texts]
    for module, blob in zip(modules, ("AAAA", "BBBB"), strict=True):
        printed = print_module(module)
        assert f'"0x04000000{blob}0000"' in printed
        assert len(set(re.findall(r"(weights\w*)", printed))) == 1
