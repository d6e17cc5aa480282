"""The quick parser makes the modules and the errors of xDSL's own."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from nn_opt.ir.parsing import make_context
from nn_opt.ir.printing import print_module
from nn_opt.ir.quick_parser import QuickParser

LIT = Path(__file__).resolve().parents[2] / "lit"
COMPLEX = re.compile(r"expected '\)', got '.*'")  # what xDSL asserts, and is a diagnostic here
FOLDERS = sorted(path.name for path in LIT.iterdir() if path.is_dir())


def chunks(folder: str) -> Iterator[str]:
    """Yield the modules of the lit tests of a folder."""
    for path in sorted((LIT / folder).rglob("*.mlir")):
        yield from path.read_text(encoding="utf-8", errors="replace").split("// -----\n")


def outcome(make: type[QuickParser | Parser], ctx: Context, text: str) -> tuple[object, ...]:
    """Return the printed module or the error and where it is, as the first text of a process."""
    resources = Builtin.get_interface(OpAsmDialectInterface)
    assert resources is not None
    resources._blob_storage.clear()  # pyright: ignore[reportPrivateUsage]
    try:
        return ("module", print_module(make(ctx, text, "m.mlir").parse_module(), generic=True))
    except ParseError as error:
        if COMPLEX.fullmatch(error.msg):
            return (AssertionError,)
        return (error.msg, error.span.start, error.span.end)
    except AssertionError as error:
        if "expected MLIRTokenKind.R_PAREN" not in str(error):
            raise
        return (AssertionError,)
    except (VerifyException, DiagnosticException, ValueError, OverflowError, KeyError) as error:
        return (type(error), str(error))


def assert_same(ctx: Context, text: str) -> None:
    assert outcome(QuickParser, ctx, text) == outcome(Parser, ctx, text)


@pytest.mark.parametrize("folder", FOLDERS)
def test_files(folder: str):
    ctx = make_context(allow_unregistered=True)
    for text in chunks(folder):
        if len(text) < 20_000:
            assert_same(ctx, text)


@pytest.mark.parametrize("folder", FOLDERS)
def test_mistakes(folder: str):
    """Drop or double a word at a random place: both refuse it in the same words, or neither."""
    chance = random.Random(folder)
    ctx = make_context()
    for text in chunks(folder):
        words = [m for m in re.finditer(r'[\w.]+|[^\w\s"\\]', text)]
        if not words or len(text) > 3000:
            continue
        for word in chance.sample(words, min(4, len(words))):
            assert_same(ctx, text[: word.start()] + text[word.end() :])
            assert_same(ctx, f"{text[: word.end()]} {text[word.start() :]}")


MISTAKES = [
    "%a:2 = arith.constant 1 : i32",
    "%a, %b = arith.constant 1 : i32",
    "%a = arith.constant 1 : i32\n%b = arith.addi %a, %a#1 : i32",
    "%a = arith.constant 1 : i32\n%b = arith.addi %a, %a#x : i32",
    "%a = arith.constant 1 : i32\n%b = arith.addi %a, %a : i64",
    "%a = arith.constant 1 : i32\n%a = arith.constant 1 : i32",
    "%a = arith.constant 1 : i32\n%b = arith.addi %a : i32",
    "%b = arith.addi %a, %a : i32",
    "%a = arith.constant 1 : i32 loc(unknown) loc",
    '%a = arith.constant 1 : i32\n%b = arith.addi %a, %a {x = 1, x = 2} : i32 loc("f":1:2)',
    '%a "t.op"() : () -> i32',
    "= 3",
    "",
]


@pytest.mark.parametrize("text", MISTAKES)
def test_mistake(text: str):
    assert_same(make_context(), text)


@pytest.mark.parametrize("wrong", [False, True])
def test_formats_that_name_no_operand(wrong: bool):
    """`operands` in a format stands for all of them."""
    operands = "%a" if wrong else "%a, %b"
    assert_same(
        make_context(),
        f"""llvm.func @f(%a: f32, %b: f32) -> f32 {{
          %c = llvm.intr.maxnum({operands}) : (f32, f32) -> f32
          llvm.return %c : f32
        }}""",
    )
