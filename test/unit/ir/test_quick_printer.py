"""The quick printer writes what xDSL's own writes."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from xdsl.ir import Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from nn_opt.ir.parsing import make_context
from nn_opt.ir.quick_parser import QuickParser
from nn_opt.ir.quick_printer import QuickPrinter
from nn_opt.ir.verify import verify

LIT = Path(__file__).resolve().parents[2] / "lit"
FOLDERS = sorted(path.name for path in LIT.iterdir() if path.is_dir())


def modules(folder: str) -> Iterator[Operation]:
    """Yield the modules of the lit tests of a folder that are valid."""
    ctx = make_context(allow_unregistered=True)
    for path in sorted((LIT / folder).rglob("*.mlir")):
        for text in path.read_text(encoding="utf-8", errors="replace").split("// -----\n"):
            try:
                module = QuickParser(ctx, text[:20_000], "m.mlir").parse_module()
                verify(module)
                yield module
            except (
                ParseError,
                VerifyException,
                DiagnosticException,
                ValueError,
                OverflowError,
                KeyError,
            ):
                continue


def text_of(printer: type[Printer], module: Operation, **options: Any) -> str:
    stream = StringIO()
    printer(stream, **options).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("option", [None, "print_generic_format", "print_debuginfo"])
def test_files(folder: str, option: str | None):
    options = {option: True} if option else {}
    for module in modules(folder):
        assert text_of(QuickPrinter, module, **options) == text_of(Printer, module, **options)


@pytest.mark.parametrize(
    "line",
    [
        "%y = arith.addi %x, %x : i32",
        '%y = arith.addi %x, %x {note = "100% %s \\0A"} : i32',
        "%y = arith.addi %x, %x overflow<nsw> : i32",
        "%y = arith.muli %x, %z : i32",
        "%y, %o = arith.addui_extended %z, %x : i32, i1",
        '%y = "test.op"(%x) : (i32) -> i32',
    ],
)
def test_an_op_that_comes_again(line: str):
    lines = "\n".join([line.replace("%y", f"%y{n}").replace("%o", f"%o{n}") for n in range(4)])
    text = f"func.func @f(%x: i32, %z: i32) {{\n{lines}\nfunc.return\n}}"
    module = QuickParser(make_context(allow_unregistered=True), text, "m.mlir").parse_module()
    assert text_of(QuickPrinter, module) == text_of(Printer, module)


def test_names_that_clash_are_numbered_alike():
    body = "".join(f"%a = arith.addi %x, %x : i32\n%{n} = arith.addi %x, %a : i32\n" for n in "0")
    text = f"func.func @f(%x: i32) {{\n{body}func.return\n}}"
    module = QuickParser(make_context(), f"{text}\n{text.replace('@f', '@g')}", "m").parse_module()
    for result in [result for op in module.walk() for result in op.results]:
        result.name_hint = "same"
    assert text_of(QuickPrinter, module) == text_of(Printer, module)
