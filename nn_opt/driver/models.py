"""What nn-run and nn-compile share: arguments that name a model, errors, the progress bar."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from nn_opt import __version__
from nn_opt.runtime.loader import RuntimeFault

Progress = Callable[[str, int, int], None]


def fail(text: str) -> NoReturn:
    """Raise the diagnostic of a user's mistake."""
    from nn_opt.ir.diagnostics import DiagnosticError  # with xDSL, which a warm start can spare

    raise DiagnosticError(text)


class Parser(argparse.ArgumentParser):
    """A command line whose mistakes are diagnostics like all others."""

    def error(self, message: str) -> NoReturn:
        fail(f"error: {message}\n  hint: --help lists the options")


WINOGRAD = ("auto", "off", "force2", "force4")  # options of --choose-convolution
PRECISIONS = ("f32", "bf16")  # options of --lower-precision


def model_parser(name: str, purpose: str) -> Parser:
    """Return a parser with the options by which a model is compiled."""
    parser = Parser(prog=name, description=purpose, allow_abbrev=False)
    add = parser.add_argument
    add("model", help="an ONNX model, or IR as text (.mlir)")
    add("--version", action="version", version=f"{name} {__version__}")
    add("--target", default="cpu", metavar="NAME", help="machine to compile for; cpu is this one")
    add("--dim", action="append", default=[], metavar="N=1", help="size of a named dimension")
    add("--shape", action="append", default=[], metavar="x=1x3x8x8", help="shape of an input")
    add("--value", action="append", default=[], metavar="s=1,2", help="what an input holds always")
    add("--winograd", default="auto", choices=WINOGRAD, help="fewer multiplications (auto)")
    add("--precision", default="f32", choices=PRECISIONS, help="of products: bf16 rounds (f32)")
    add("--deterministic", action="store_true", help="the same bits on machines of any width")
    add("--debug-info", action="store_true", help="let debuggers and profilers name nodes")
    add("--no-cache", action="store_true", help="compile anew and keep nothing")
    add("--debug", action="store_true", help="show a traceback with an error")
    return parser


def parse_dims(texts: Sequence[str]) -> dict[str, int]:
    """Return sizes by name, of texts such as N=1."""
    dims: dict[str, int] = {}
    for text in texts:
        name, value = _pair("--dim", text)
        dims[name] = _size("--dim", text, value)
    return dims


def parse_shapes(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return shapes by input, of texts such as x=1x3x8x8; `x=` is a scalar's."""
    shapes: dict[str, list[int]] = {}
    for text in texts:
        name, value = _pair("--shape", text)
        shapes[name] = [_size("--shape", text, size) for size in value.split("x") if value]
    return shapes


def _pair(flag: str, text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        fail(f"error: {flag} is {text!r}, expected NAME=VALUE")
    return name, value


def _size(flag: str, text: str, size: str) -> int:
    if not size.isdecimal():
        fail(f"error: {flag} is {text!r}, but {size!r} is no size")
    return int(size)


def report_errors(run: Callable[[list[str]], None], argv: Sequence[str] | None) -> int:
    """Run a tool; return its exit status: 0, 1 after one message, 130 after Ctrl-C."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        run(arguments)
        sys.stdout.flush()
    except SystemExit:  # --help and --version: what follows would import xDSL
        raise
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except user_errors() as error:
        if "--debug" in arguments:
            raise
        text = str(error)
        is_finished = "error: " in text.split("\n", 1)[0]
        sys.stderr.write(f"{text}\n" if is_finished else f"error: {text}\n")
        return 1
    return 0


def user_errors() -> tuple[type[Exception], ...]:
    """Return what a user's mistake raises; imported only once something was raised."""
    from xdsl.utils.exceptions import DiagnosticException

    from nn_opt.ir.diagnostics import DiagnosticError

    return DiagnosticError, DiagnosticException, RuntimeFault


@contextmanager
def progress_bar() -> Generator[Progress | None]:
    """Yield what shows a compilation's progress on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda name, number, total: bar.update(
            task, description=name, completed=number, total=total
        )
