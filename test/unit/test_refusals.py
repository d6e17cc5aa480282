"""What is refused to those who call nn-opt from Python: messages that no command line brings."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import PassFailedException, VerifyException

import nn_opt
from nn_opt.backends.llvm.object import machine_for
from nn_opt.build import bind_shapes
from nn_opt.driver.tool import run_tool
from nn_opt.ir.contexts import register_dialect
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.legality import require_absent
from nn_opt.ir.plugins import load_installed
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.target import TARGETS
from nn_opt.ir.weights import WeightsFile
from nn_opt.pass_options import checked_value

MAIN = """func.func @main(%x: f32, %y: f32) -> (f32, f32) {
  %a = arith.addf %x, %y : f32
  %b = arith.addf %a, %y : f32
  func.return %a, %b : f32, f32
}
"""


def test_a_triple_that_llvm_does_not_know():
    target = replace(TARGETS["zen4"], triple="z80-unknown-none")
    with pytest.raises(DiagnosticError, match="LLVM does not know 'z80-unknown-none': "):
        machine_for(target)


def test_a_dialect_of_a_known_name():
    with pytest.raises(DiagnosticError, match="there is a dialect 'func' already"):
        register_dialect(Dialect("func", []))


def test_a_package_that_names_something_else():
    with pytest.raises(DiagnosticError, match=r"pass 'x' of y 1: math:pi is no ModulePass"):
        load_installed("pass 'x' of y 1", "math:pi", ModulePass)


def test_a_module_without_main():
    module = nn_opt.parse("func.func private @f()\n")
    with pytest.raises(DiagnosticError, match=r"the module has no func\.func @main with a body"):
        bind_shapes(module, {})


def test_an_input_that_main_lacks():
    text = 'func.func @main(%x: tensor<?xf32>) attributes {arg_names = ["x"]} {\n  func.return\n}\n'
    with pytest.raises(DiagnosticError, match="@main has no input 'z'; it has 'x'"):
        bind_shapes(nn_opt.parse(text), {"z": (1,)})
    with pytest.raises(
        DiagnosticError, match=r"input x: float32\[.*\] of @main cannot be \[1, 1\]"
    ):
        bind_shapes(nn_opt.parse(text), {"x": (1, 1)})


@pytest.mark.parametrize(("dtype", "size"), [("F32", 9), ("F3", 8)])
def test_weights_of_a_bad_size(tmp_path: Path, dtype: str, size: int):
    header = {"w": {"dtype": dtype, "shape": [2], "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(size))
    problem = f"array 'w' has a bad size or the unknown type {dtype}"
    with pytest.raises(DiagnosticError, match=problem):
        _ = WeightsFile(path)["w"]


def test_values_from_outside_of_an_isolated_op():
    module = nn_opt.parse(MAIN)
    add = next(op for op in module.walk() if isinstance(op, arith.AddfOp))
    inner = func.FuncOp("f", ((), ()))
    inner.body.block.add_ops([arith.NegfOp(add.result), func.ReturnOp()])
    module.body.block.add_op(inner)
    outside = "Operation using value defined out of its IsolatedFromAbove parent"
    with pytest.raises(VerifyException, match=outside):
        inner.verify()


def test_an_option_that_is_no_tuple():
    with pytest.raises(ValueError, match=r"^a tuple$"):
        checked_value(3, tuple[int, ...])


def test_every_op_without_a_rule_is_listed():
    module = nn_opt.parse(MAIN.replace("%y : f32\n  func", "%y : f32\n" + 4 * ADD + "  func"))
    with pytest.raises(PassFailedException) as error:
        require_absent(module, "arith", after="convert-arith")
    text = str(error.value)
    assert text.startswith("<text>:2:8: error: arith.addf: --convert-arith has no rule for this")
    assert text.count("note: nor for this arith.addf") == 3
    assert text.endswith("note: 6 of arith.addf are left in all")


ADD = "  arith.addf %x, %y : f32\n"


class AddToSub(RewritePattern):
    """x + y  ->  x - y"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddfOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, arith.SubfOp(*op.operands))


class SubToAdd(RewritePattern):
    """x - y  ->  x + y"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.SubfOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, arith.AddfOp(*op.operands))


def test_patterns_that_never_end():
    reason = r"AddToSub and SubToAdd go on after \d+ rewrites: one undoes the other's work"
    with pytest.raises(PassFailedException, match=reason):
        rewrite(nn_opt.parse(MAIN), AddToSub(), SubToAdd())


class LoseResult(ModulePass):
    """Drop the last result of @main."""

    name = "lose-result"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        (main,) = op.ops
        assert isinstance(main, func.FuncOp)
        end = main.body.block.last_op
        assert end is not None
        end.operands = end.operands[:1]
        types = main.function_type
        main.properties["function_type"] = FunctionType.from_lists(
            types.inputs.data, [types.outputs.data[0]]
        )


def test_a_pass_that_loses_a_result():
    pipeline = nn_opt.Pipeline(LoseResult())
    with pytest.raises(DiagnosticError, match="--lose-result left 1 results of 2"):
        pipeline.run(nn_opt.parse(MAIN), instruments=[nn_opt.Check()])


class WrongSums(ModulePass):
    """Make sums differences."""

    name = "wrong-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, AddToSub())


def test_the_first_wrong_operation():
    pipeline = nn_opt.Pipeline(WrongSums())
    first = r"the first operation that differs is arith\.subf at <text>:2:8, its result #0: "
    with pytest.raises(DiagnosticError, match=first):
        pipeline.run(nn_opt.parse(MAIN), instruments=[nn_opt.Check()])


def test_regions_for_which_there_is_no_stack(monkeypatch: pytest.MonkeyPatch):
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    deep = "scf.if %c {\n" * 5000 + "}\n" * 5000
    with pytest.raises(DiagnosticError, match="regions are nested too deeply"):
        nn_opt.parse(f"func.func @f(%c: i1) {{\n{deep}func.return\n}}\n")


def test_a_language_server_without_its_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "nn_opt.language_server.server", None)
    assert run_tool(["lsp"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: the language server cannot start: ")
    assert message.endswith("hint: pip install 'nn-opt[lsp]'\n")
