"""Patterns written in PDL: what they compute, what they may call, and what they may not say."""

# ruff: noqa: E501  (lines of IR)
import re
from pathlib import Path

import numpy as np
import pytest
from programs import op_names, program, results_before_and_after
from xdsl.dialects import llvm, test
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.pass_specs import make_pass
from nn_opt.passes.apply_pdl import ApplyPdlPass
from nn_opt.passes.pdl_functions import CONSTRAINTS, REWRITES, pdl_constraint, pdl_rewrite
from nn_opt.pipelines import run_passes
from nn_opt.plans import parse_pipeline

RULES = Path(__file__).parents[2] / "lit" / "passes" / "Inputs" / "apply-pdl" / "rules.pdl"

PROGRAM = """
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %p = graph.mul %a, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %q = graph.mul %b, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s = graph.add %p, %q : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = graph.relu %s : tensor<8xf32>
  %t = graph.relu %r : tensor<8xf32>
  func.return %t : tensor<8xf32>
}
"""


def test_rewritten_programs_compute_the_same():
    module = program(PROGRAM)
    for before, after in results_before_and_after(module, ApplyPdlPass(str(RULES))):
        # One rounding less of three: sums of products of about 1, in f32.
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    assert op_names(module) == ["graph.add", "graph.mul", "graph.relu"]


PROGRAM_OF_BOTH = """
func.func @main(%x: tensor<8xf32>, %i: i32, %j: i32) -> (tensor<8xf32>, tensor<8xf32>, i32) {
  %a = graph.relu %x : tensor<8xf32>
  %b = graph.relu %a : tensor<8xf32>
  %c = graph.relu %b : tensor<8xf32>
  %d = graph.gelu %x approximate "none" : tensor<8xf32>
  %e = arith.subi %i, %j : i32
  %f = arith.addi %e, %j : i32
  %g = arith.addi %f, %e : i32
  func.return %c, %d, %g : tensor<8xf32>, tensor<8xf32>, i32
}
"""
OF_BOTH = {
    "DoubleRelu": "",
    "GeluBecomesTanhForm": "",
    "DifferenceAndBack": """
      pdl.pattern @DifferenceAndBack : benefit(1) {
        %t = pdl.type : i32
        %x = pdl.operand
        %y = pdl.operand
        %sub = pdl.operation "arith.subi"(%x, %y : !pdl.value, !pdl.value) -> (%t : !pdl.type)
        %d = pdl.result 0 of %sub
        %add = pdl.operation "arith.addi"(%d, %y : !pdl.value, !pdl.value) -> (%t : !pdl.type)
        pdl.rewrite %add {
          pdl.replace %add with (%x : !pdl.value)
        }
      }""",
}


@pytest.mark.parametrize(("name", "text"), OF_BOTH.items(), ids=OF_BOTH.keys())
def test_xdsls_two_interpreters_agree(tmp_path: Path, name: str, text: str):
    rules = re.split(r"(?=^pdl\.pattern)", RULES.read_text("utf-8"), flags=re.MULTILINE)
    file, code = tmp_path / "rules.pdl", tmp_path / "rules.interp"
    file.write_text(text or next(rule for rule in rules if f"@{name} " in rule), "utf-8")
    interpreted = parse_module(ctx := make_context(), file.read_text("utf-8"), "rules.pdl")
    make_pass("xdsl-convert-pdl-to-pdl-interp").apply(ctx, interpreted)
    code.write_text(print_module(interpreted, generic=True), "utf-8")
    results = []
    for step in (
        f"apply-pdl{{{file}}}",
        f"xdsl-apply-pdl{{pdl-file={file}}}",
        f"xdsl-apply-pdl-interp{{pdl-interp-file={code}}}",
    ):
        module = program(PROGRAM_OF_BOTH)
        run_passes(make_context(), module, parse_pipeline(f"{step},dce"))
        results.append(print_module(module))
    assert results[0] == results[1] == results[2]
    assert results[0] != print_module(program(PROGRAM_OF_BOTH))


def transformed(tmp_path: Path, rules: str, text: str, *, unregistered: bool = True) -> str:
    file = tmp_path / "rules.pdl"
    file.write_text(rules, encoding="utf-8")
    ctx = make_context(allow_unregistered=unregistered)
    module = parse_module(ctx, text, "in.mlir")
    ApplyPdlPass(str(file)).apply(ctx, module)
    return print_module(module)


def pattern(left: str, right: str, root: str = "%op") -> str:
    return f"pdl.pattern @P : benefit(1) {{\n{left}\npdl.rewrite {root} {{\n{right}\n}}\n}}\n"


WHICH = '%op = pdl.operation "demo.which"'

REFUSED = {
    "no pattern": ("module {}", "rules.pdl:1:1: error: there is no pdl.pattern in this file"),
    "syntax": ("pdl.pattern @P : benefit {", r"rules.pdl:1:26: error: Expected '\('"),
    "latin-1 instead of UTF-8": (None, "rules.pdl: error: this is no UTF-8 text"),
    "unconnected": (
        pattern(WHICH + '\n%o = pdl.operation "demo.other"', "pdl.erase %op\npdl.erase %o"),
        "must form a connected component",
    ),
    "two ranges": (
        pattern(
            '%a = pdl.operands\n%b = pdl.operands\n%op = pdl.operation "demo.which"(%a, %b : !pdl.range<value>, !pdl.range<value>)',
            "pdl.erase %op",
        ),
        r"rules.pdl:4:7: error: pdl.operation: not supported: two ranges of operands\n  hint: one range takes all",
    ),
    "group of results": (
        pattern(WHICH + "\n%r = pdl.results 0 of %op -> !pdl.value", "pdl.replace %op with (%r : !pdl.value)"),
        r"rules.pdl:3:6: error: pdl.results: not supported: the number of a group",
    ),
    "function": (
        f'pdl.pattern @P : benefit(1) {{\n{WHICH}\npdl.rewrite %op with "nobody"\n}}',
        r"rules.pdl:3:1: error: pdl.rewrite: not supported: no Python function 'nobody' is known",
    ),
    "condition with results": (
        pattern(
            WHICH + '\n%c = pdl.apply_native_constraint "has_one_use"(%op : !pdl.operation) : !pdl.attribute',
            '%n = pdl.operation "demo.new" {"c" = %c}\npdl.replace %op with %n',
        ),
        "not supported: a condition with results",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rules", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_file_may_not_say_is_said_with_its_place(
    tmp_path: Path, rules: str | None, message: str
):
    if rules is None:
        (tmp_path / "rules.pdl").write_bytes(b"// \xe9")
        with pytest.raises(DiagnosticError, match=message):
            ApplyPdlPass(str(tmp_path / "rules.pdl")).apply(make_context(), program(PROGRAM))
        return
    with pytest.raises(Exception, match=message) as caught:
        transformed(tmp_path, rules, "")
    assert str(tmp_path / "rules.pdl") in str(caught.value)


FAILING = {
    "still read": ("pdl.erase %op", "error: pdl.erase: erases a demo.which that is still read"),
    "count": (
        '%n = pdl.operation "demo.new"\npdl.replace %op with (%x, %x : !pdl.value, !pdl.value)',
        "error: pdl.replace: replaces 1 results by 2 values",
    ),
    "gone": (
        "pdl.replace %op with (%x : !pdl.value)\npdl.erase %op",
        "error: pdl.erase: names an operation that is gone already",
    ),
    "no such result": (
        '%n = pdl.operation "demo.new"\n%r = pdl.result 1 of %n\npdl.replace %op with (%r : !pdl.value)',
        "error: pdl.replace: reads a result that the operation does not have",
    ),
    "result types": (
        '%n = pdl.operation "graph.cast"(%x : !pdl.value)\n%r = pdl.result 0 of %n\npdl.replace %op with (%r : !pdl.value)',
        "error: pdl.operation: does not say the result types of graph.cast\n  hint: add `->",
    ),
    "property": (
        '%n = pdl.operation "graph.transpose"(%x : !pdl.value)\n%r = pdl.result 0 of %n\npdl.replace %op with (%r : !pdl.value)',
        "error: pdl.operation: makes a graph.transpose that is refused: property 'perm' is missing",
    ),
    "operands": (
        '%n = pdl.operation "graph.matmul"(%x, %x : !pdl.value, !pdl.value)\n%r = pdl.result 0 of %n\npdl.replace %op with (%r : !pdl.value)',
        "error: pdl.operation: makes a graph.matmul that is refused: ",
    ),
    "verifier": (
        '%t = pdl.type : i8\n%n = pdl.operation "graph.relu"(%x : !pdl.value) -> (%t : !pdl.type)\npdl.replace %op with %n',
        "error: pdl.operation: makes a graph.relu that is refused: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("right", "message"), FAILING.values(), ids=FAILING.keys())
def test_a_rewrite_that_fails_names_its_place_and_the_operation(
    tmp_path: Path, right: str, message: str
):
    left = '%x = pdl.operand\n%t0 = pdl.type\n%op = pdl.operation "demo.which"(%x : !pdl.value) -> (%t0 : !pdl.type)'
    text = """
      %x = "demo.source"() : () -> tensor<2x3xf32>
      %y = "demo.which"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      "demo.use"(%y) : (tensor<2x3xf32>) -> ()"""
    with pytest.raises(PassFailedException) as caught:
        transformed(tmp_path, pattern(left, right), text)
    assert message in str(caught.value)
    assert "in.mlir:3:12: note: applied to this" in str(caught.value)


def test_an_unknown_operation_is_made_only_where_any_is_allowed(tmp_path: Path):
    rules = pattern(
        '%t = pdl.type\n%op = pdl.operation "arith.constant" -> (%t : !pdl.type)',
        '%n = pdl.operation "demo.new"\npdl.replace %op with %n',
    )
    text = '%c = arith.constant 1 : i32\n"test.op"(%c) : (i32) -> ()'
    assert "demo.new" in transformed(tmp_path, rules, text)
    with pytest.raises(PassFailedException, match=r"makes an unknown operation 'demo.new'"):
        transformed(tmp_path, rules, text, unregistered=False)


def test_python_functions_are_conditions_and_steps(tmp_path: Path):
    seen: list[object] = []

    @pdl_constraint("is_positive")
    def is_positive(alpha: FloatAttr) -> bool:
        seen.append(alpha)
        return alpha.value.data > 0

    @pdl_rewrite("halve")
    def halve(rewriter: object, alpha: FloatAttr) -> FloatAttr:
        return FloatAttr(alpha.value.data / 2, f32)

    try:
        rules = pattern(
            "%a = pdl.attribute\n%x = pdl.operand\n%t = pdl.type\n"
            '%op = pdl.operation "graph.leaky_relu"(%x : !pdl.value) {"alpha" = %a} -> (%t : !pdl.type)\n'
            'pdl.apply_native_constraint "is_positive"(%a : !pdl.attribute)',
            '%h = pdl.apply_native_rewrite "halve"(%a : !pdl.attribute) : !pdl.attribute\n'
            '%n = pdl.operation "graph.elu"(%x : !pdl.value) {"alpha" = %h}\npdl.replace %op with %n',
        )
        text = """
          %x = "test.op"() : () -> tensor<2xf32>
          %y = graph.leaky_relu %x alpha 0.5 : tensor<2xf32>
          %z = graph.leaky_relu %x alpha -0.5 : tensor<2xf32>
          "test.op"(%y, %z) : (tensor<2xf32>, tensor<2xf32>) -> ()"""
        result = transformed(tmp_path, rules, text)
    finally:
        del CONSTRAINTS["is_positive"], REWRITES["halve"]
    assert "graph.elu %x alpha 0.25" in result or "graph.elu %x alpha 2.5" in result
    assert "graph.leaky_relu %x alpha -" in result
    assert len(seen) >= 2


def test_a_function_that_returns_too_little_is_named(tmp_path: Path):
    @pdl_rewrite("one")
    def one(rewriter: object, op: Operation) -> FloatAttr:
        return FloatAttr(1.0, f32)

    try:
        rules = pattern(
            '%t = pdl.type\n%op = pdl.operation "test.op" -> (%t : !pdl.type)',
            '%a, %b = pdl.apply_native_rewrite "one"(%op : !pdl.operation) : !pdl.attribute, !pdl.attribute\n'
            '%n = pdl.operation "test.op" {"a" = %a, "b" = %b}\npdl.erase %op',
        )
        with pytest.raises(PassFailedException, match="expects 2 values of the function 'one'"):
            transformed(tmp_path, rules, '%c = "test.op"() : () -> i32')
    finally:
        del REWRITES["one"]


def test_a_whole_rewrite_may_be_a_python_function(tmp_path: Path):
    @pdl_rewrite("swap_operands")
    def swap_operands(rewriter, op: Operation, left: SSAValue, right: SSAValue):
        op.operands = (right, left)
        rewriter.replace(op, type(op).create(operands=(right, left), result_types=op.result_types))

    try:
        rules = (
            "pdl.pattern @P : benefit(1) {\n%l = pdl.operand\n%r = pdl.operand\n%t = pdl.type\n"
            '%op = pdl.operation "graph.sub"(%l, %r : !pdl.value, !pdl.value) -> (%t : !pdl.type)\n'
            'pdl.apply_native_constraint "has_one_use"(%l : !pdl.value)\n'
            'pdl.rewrite %op with "swap_operands"(%l, %r : !pdl.value, !pdl.value)\n}'
        )
        text = """
          %x, %y = "test.op"() : () -> (tensor<2xf32>, tensor<2xf32>)
          %z = graph.sub %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          "test.op"(%z, %y) : (tensor<2xf32>, tensor<2xf32>) -> ()"""
        result = transformed(tmp_path, rules, text)
    finally:
        del REWRITES["swap_operands"]
    assert "graph.sub %y, %x" in result


def test_an_operation_that_xdsl_defines_otherwise_is_matched_too(tmp_path: Path):
    source = test.TestOp(result_types=[llvm.LLVMPointerType()])
    theirs = llvm.GEPOp(source.results[0], [1], pointee_type=f32)
    assert type(theirs) is not make_context().get_op(theirs.name)
    module = ModuleOp([source, theirs, test.TestOp([theirs.result])])
    rules = pattern(
        '%p = pdl.operand\n%t = pdl.type\n%op = pdl.operation "llvm.getelementptr"(%p : !pdl.value) -> (%t : !pdl.type)',
        "pdl.replace %op with (%p : !pdl.value)",
    )
    (tmp_path / "rules.pdl").write_text(rules)
    ApplyPdlPass(str(tmp_path / "rules.pdl")).apply(make_context(), module)
    assert [op.name for op in module.ops] == ["test.op", "test.op"]


def test_a_root_without_a_name_is_any_operation(tmp_path: Path):
    rules = pattern(
        "%x = pdl.operand\n%t = pdl.type : i8\n%op = pdl.operation (%x : !pdl.value) -> (%t : !pdl.type)",
        "pdl.replace %op with (%x : !pdl.value)",
    )
    text = (
        '%a = "test.op"() : () -> i8\n%b = arith.bitcast %a : i8 to i8\n"test.op"(%b) : (i8) -> ()'
    )
    assert "bitcast" not in transformed(tmp_path, rules, text)


def test_operands_that_are_left_out_at_the_end_are_none(tmp_path: Path):
    rules = pattern(
        '%x = pdl.operand\n%t = pdl.type\n%op = pdl.operation "graph.relu"(%x : !pdl.value) -> (%t : !pdl.type)',
        "%s = pdl.type : tensor<f32>\n%zero = pdl.attribute = dense<0.0> : tensor<f32>\n"
        '%c = pdl.operation "graph.constant" {"value" = %zero} -> (%s : !pdl.type)\n%lo = pdl.result 0 of %c\n'
        '%n = pdl.operation "graph.clip"(%x, %lo : !pdl.value, !pdl.value)\npdl.replace %op with %n',
    )
    text = """
      %x = "test.op"() : () -> tensor<2xf32>
      %y = graph.relu %x : tensor<2xf32>
      "test.op"(%y) : (tensor<2xf32>) -> ()"""
    assert "graph.clip %x low %" in transformed(tmp_path, rules, text)
