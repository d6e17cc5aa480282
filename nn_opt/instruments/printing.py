"""What is shown of the module while passes run: all of it, what changed, a file for each pass."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.instruments.counters import known
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.files import write_text
from nn_opt.ir.printing import print_module

if TYPE_CHECKING:
    from nn_opt.pipeline import Pipeline

ALL = "all"
_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_PLAIN = "\x1b[0m"
_TREE_FILE = re.compile(r"[0-9]{4,}-[\w-]+\.mlir")


class PrintIR(Instrument):
    """Print the module around passes: before and after those named, or `all`.

    changed: after each pass that changed it.
    failed: as it was left by a pass that failed.
    file: where to; standard error if nothing is said.

    >>> import nn_opt, sys
    >>> module = nn_opt.parse("func.func private @f()\\n")
    >>> show = nn_opt.PrintIR(after="cse", file=sys.stdout)
    >>> _ = nn_opt.Pipeline("canonicalize,cse").run(module, instruments=[show])
    // -----// IR Dump After cse //----- //
    builtin.module {
      func.func private @f() -> ()
    }
    <BLANKLINE>
    """

    def __init__(
        self,
        before: str | Sequence[str] = (),
        after: str | Sequence[str] = (),
        *,
        changed: bool = False,
        failed: bool = False,
        file: TextIO | None = None,
    ) -> None:
        self.before = {before} if isinstance(before, str) else set(before)
        self.after = {after} if isinstance(after, str) else set(after)
        self.changed, self.failed, self.file = changed, failed, file
        self._last = ""

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Check the names.

        Raises: DiagnosticError if there is no such pass.
        """
        for name in (self.before | self.after) - {ALL, *(step.name for step in pipeline)}:
            known("PrintIR", name)

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self.changed:
            self._last = print_module(module)
        if self.before & {step.name, ALL}:
            self._print(f"Before {step.name}", print_module(module))

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        chosen = bool(self.after & {step.name, ALL})
        if not chosen and not self.changed:
            return
        text = print_module(module)
        if chosen or text != self._last:
            self._print(f"After {step.name}", text)

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        if self.failed:
            self._print(f"After {step.name} Failed", print_module(module, generic=True))

    def _print(self, title: str, text: str) -> None:
        (self.file or sys.stderr).write(f"// -----// IR Dump {title} //----- //\n{text}\n")


class PrintChanges(Instrument):
    """Print what each pass changed, as a unified diff.

    coloured: whether it has colours; if nothing is said, on a terminal, unless NO_COLOR is set.

    >>> import nn_opt, sys
    >>> module = nn_opt.parse('''func.func @f(%x: f32) -> f32 {
    ...   %y = arith.mulf %x, %x : f32
    ...   func.return %x : f32
    ... }''')
    >>> show = nn_opt.PrintChanges(file=sys.stdout)
    >>> _ = nn_opt.Pipeline("cse,dce").run(module, instruments=[show])
    --- before dce
    +++ after dce
    @@ -1,6 +1,5 @@
     builtin.module {
       func.func @f(%x: f32) -> f32 {
    -    %y = arith.mulf %x, %x : f32
         func.return %x : f32
       }
     }
    """

    def __init__(self, file: TextIO | None = None, *, coloured: bool | None = None) -> None:
        self.file, self.coloured = file, coloured
        self._last: str | None = None

    def before_pipeline(self, pipeline: object, module: ModuleOp) -> None:
        self._last = None

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self._last is None:
            self._last = print_module(module)

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        text = print_module(module)
        if text != self._last:
            stream = self.file or sys.stderr
            lines = difference(step.name, self._last or "", text)
            coloured = self.coloured
            if coloured is None:
                coloured = stream.isatty() and "NO_COLOR" not in os.environ
            stream.writelines(map(_coloured, lines) if coloured else lines)
        self._last = text


def difference(name: str, before: str, after: str) -> list[str]:
    """Return what a pass changed, as the lines of a unified diff."""
    lines = unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"before {name}",
        f"after {name}",
    )
    return list(lines)


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[0])
    return line if colour is None else f"{colour}{line.rstrip()}{_PLAIN}\n"


class PrintIRTree(Instrument):
    """Write the module after each pass to a file of a folder: 0001-canonicalize.mlir and so on.

    Files of such names that an earlier run left there are removed.

    >>> import nn_opt, pathlib, tempfile
    >>> module = nn_opt.parse("func.func private @f()\\n")
    >>> folder = tempfile.mkdtemp()
    >>> tree = nn_opt.PrintIRTree(folder)
    >>> _ = nn_opt.Pipeline("canonicalize,cse").run(module, instruments=[tree])
    >>> sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['0000-input.mlir', '0001-canonicalize.mlir', '0002-cse.mlir']
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Make the folder, or clear it.

        Raises: DiagnosticError if that cannot be done.
        """
        self._folder, self._number = Path(folder), 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for path in self._folder.iterdir():
                if _TREE_FILE.fullmatch(path.name):
                    path.unlink()
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
