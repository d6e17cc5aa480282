"""Standard input and output, and bytes to text: what can go wrong there is a message."""

from __future__ import annotations

import os
import sys

from nn_opt.ir.diagnostics import DiagnosticError

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_input() -> bytes:
    """Return all of standard input.

    Raises: DiagnosticError if it is closed or cannot be read.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # as after <&-
        raise DiagnosticError("<stdin>: error: standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise DiagnosticError(f"<stdin>: error: {error.strerror}") from error


def write_output(text: str) -> None:
    """Write to standard output, all of it.

    Raises: DiagnosticError if it is closed or full; BrokenPipeError if its reader has gone.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # as after >&-
        raise DiagnosticError("<stdout>: error: standard output is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise DiagnosticError(f"<stdout>: error: {error.strerror}") from error


_MODELS = "a model is read from a file whose name ends in .onnx"


def drop_output() -> None:
    """Let what is still to be written to standard output go nowhere, so that Python can end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _guess(content: bytes) -> str:
    from nn_opt.frontends.onnx.foreign import seems  # with what reads models, which text can spare

    kind = seems(content)
    return f"{kind.said}; {kind.hint}" if kind else _MODELS


def decode(content: bytes, filename: str) -> str:
    """Return the text of a file without the mark that some editors put at its start.

    Raises: DiagnosticError for what is no UTF-8 text.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        hint = "iconv -f UTF-16 -t UTF-8 makes it so" if content[:2] in _UTF16 else _guess(content)
        problem = f"{filename}:{line}:{column}: error: this is no UTF-8 text\n  hint: {hint}"
        raise DiagnosticError(problem) from error
    zero = text.find("\0")
    if zero >= 0:
        line = text.count("\n", 0, zero) + 1
        column = zero - text.rfind("\n", 0, zero)
        raise DiagnosticError(f"{filename}:{line}:{column}: error: this is no text: it has a NUL")
    return text
