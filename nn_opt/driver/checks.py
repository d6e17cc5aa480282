"""Check commands: what the user's own program says about a module."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from nn_opt.instruments.reproducer import save_beside
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.files import write_text
from nn_opt.ir.printing import print_module


@dataclass
class Check:
    """A command that is given a file with IR, as `{}` or as its last argument, and says 0 or not.

    Weights, if there are any, are in FILE.safetensors beside the file.
    """

    flag: str
    words: list[str]
    folder: Path
    runs: int = 0

    def accepts(self, module: ModuleOp) -> bool:
        """Return whether the command exits with 0 on a module.

        Raises: DiagnosticError if it cannot be started.
        """
        return self.accepts_file(write_state(module, str(self.folder / "module.mlir")))

    def accepts_file(self, file: str) -> bool:
        """Return whether the command exits with 0 on a file."""
        self.runs += 1
        words = [word.replace("{}", file) for word in self.words]
        if words == self.words:
            words.append(file)
        try:
            done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        except OSError as error:
            problem = f"error: {self.flag}: cannot run '{words[0]}': {error.strerror}"
            raise DiagnosticError(problem) from error
        return done.returncode == 0


@contextmanager
def make_check(flag: str, command: str) -> Generator[Check]:
    """Return a check by command; its files are gone afterwards.

    Raises: DiagnosticError for a command that is no list of words.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise DiagnosticError(f"error: {flag} is '{command}': {error}") from error
    if not words:
        raise DiagnosticError(f"error: {flag} is empty, expected a command")
    with tempfile.TemporaryDirectory(prefix="nn-opt-") as folder:
        yield Check(flag, words, Path(folder))


def write_state(module: ModuleOp, path: str) -> str:
    """Write a module, and its weights beside it; return the path."""
    save_beside(module, path)
    write_text(path, print_module(module))
    return path
