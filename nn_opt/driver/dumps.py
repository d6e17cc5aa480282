"""What is shown of the module while passes run: all of it, what changed, a file for each pass."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.files import write_text
from nn_opt.ir.printing import print_module

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_PLAIN = "\x1b[0m"


@dataclass
class Dump(Instrument):
    """Print the module to stderr around the passes named, or around `all`."""

    names_before: list[str]
    names_after: list[str]
    on_change: bool
    _last: str = ""

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self.on_change:
            self._last = print_module(module)
        if {step.name, "all"} & set(self.names_before):
            _dump(f"Before {step.name}", print_module(module))

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        chosen = bool({step.name, "all"} & set(self.names_after))
        if not chosen and not self.on_change:
            return
        text = print_module(module)
        if chosen or text != self._last:
            _dump(f"After {step.name}", text)


def _dump(title: str, text: str) -> None:
    sys.stderr.write(f"// -----// IR Dump {title} //----- //\n{text}\n")


@dataclass
class Changes(Instrument):
    """Print to stderr what each pass changed, as a unified diff; in colours on a terminal."""

    _last: str | None = None

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self._last is None:
            self._last = print_module(module)

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        text = print_module(module)
        if text != self._last:
            sys.stderr.writelines(_difference(step.name, self._last or "", text))
        self._last = text


def _difference(name: str, before: str, after: str) -> list[str]:
    lines = unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"before {name}",
        f"after {name}",
    )
    coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    return [_coloured(line) for line in lines] if coloured else list(lines)


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[0])
    return line if colour is None else f"{colour}{line.rstrip()}{_PLAIN}\n"


class TreeDump(Instrument):
    """Write the module after each pass to a file of a folder: 0001-canonicalize.mlir and so on."""

    def __init__(self, folder: str) -> None:
        """Make the folder.

        Raises: DiagnosticError if that cannot be done.
        """
        self._folder, self._number = Path(folder), 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiagnosticError(f"{folder}: error: {error.strerror}") from error

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self._number == 0:
            self._write("input", module)

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self._write(step.name, module)

    def _write(self, name: str, module: ModuleOp) -> None:
        path = self._folder / f"{self._number:04}-{name}.mlir"
        write_text(str(path), print_module(module))
        self._number += 1
