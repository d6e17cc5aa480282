"""Files that are either whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from nn_opt.ir.diagnostics import DiagnosticError


def write_atomically(path: str | Path, write: Callable[[str], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in the place of `path`.

    Raises: DiagnosticError if the system refuses.
    """
    if not str(path):
        raise DiagnosticError("error: the name of a file to write is empty")
    target = Path(os.path.realpath(path))  # a link stays one
    try:
        if target.exists() and not target.is_file():  # /dev/null, a pipe
            write(str(target))
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise DiagnosticError(f"{path}: error: {error.strerror}") from error
    try:
        write(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise DiagnosticError(f"{path}: error: {error.strerror}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_text(path: str | Path) -> str:
    """Return what a text file holds, which is UTF-8.

    Raises: DiagnosticError if it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise DiagnosticError(f"{path}: error: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DiagnosticError(f"{path}: error: this is no UTF-8 text") from error


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_atomically(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a binary file atomically."""
    write_atomically(path, lambda temporary: Path(temporary).write_bytes(content))
