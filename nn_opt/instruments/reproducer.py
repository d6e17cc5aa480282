"""`--crash-reproducer=FILE`: what a failing pass was given, in a file that replays the failure."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from nn_opt.instrument import Instrument
from nn_opt.instruments.counters import DebugCounter
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.files import write_text
from nn_opt.ir.printing import print_module
from nn_opt.pipeline import Pipeline

HEADER = "// nn-opt-arguments: "


class CrashReproducer(Instrument):
    """If a pass fails, write what it was given, and the rest of the pipeline, to a file.

    `nn-opt --run-reproducer FILE` replays the failure; weights are in FILE.safetensors.
    flags: further flags of the replay, such as `--load=my_passes.py`.
    counter: what is left of it becomes flags, too.

    >>> import nn_opt, pathlib, tempfile
    >>> module = nn_opt.parse('''func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
    ...   %y = graph.relu %x : tensor<?xf32>
    ...   func.return %y : tensor<?xf32>
    ... }''')
    >>> path = pathlib.Path(tempfile.mkdtemp(), "crash.mlir")
    >>> crash = nn_opt.CrashReproducer(path)
    >>> try:
    ...     nn_opt.Pipeline("cse,convert-graph-to-tensor,dce").run(module, instruments=[crash])
    ... except nn_opt.PassFailedException:
    ...     print(path.read_text().splitlines()[1])
    // nn-opt-arguments: '--pass-pipeline=builtin.module(convert-graph-to-tensor,dce)'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        flags: Sequence[str] = (),
        counter: DebugCounter | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.note = ""
        """What became of it: said if a pass fails."""
        self._flags, self._counter = tuple(flags), counter
        self._pending: tuple[ModulePass, ...] = ()
        self._counts: list[str] = []
        self._module: ModuleOp | None = None

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        self._pending = pipeline.passes

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        self._module = None

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self._module is not None:
            self._pending = self._pending[1:]
        while self._pending and self._pending[0] is not step:  # others were left out
            self._pending = self._pending[1:]
        self._module = module.clone()
        self._counts = self._counter.left() if self._counter is not None else []

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        if self._module is None:
            return
        what = "" if isinstance(error, DiagnosticException) else f"{type(error).__name__}: "
        failure = f"{what}{error}".split("\n")[0]
        head = f"// Replay it with nn-opt --run-reproducer. It ended in: {failure}\n"
        pipeline = f"--pass-pipeline={pipeline_text(self._pending)}"
        try:
            weights = save_beside(self._module, self.path)
            flags = [pipeline, *self._counts, *self._flags, *weights]
            head += f"{HEADER}{shlex.join(flags)}\n"
            write_text(self.path, head + print_module(self._module, locations=True))
            self.note = f"nn-opt --run-reproducer {self.path} replays this"
        except DiagnosticError as problem:
            self.note = f"no reproducer was written: {problem}"
        error.add_note(self.note)


def save_beside(module: ModuleOp, path: str) -> list[str]:
    """Write the weights of a module to PATH.safetensors, if it has any; return the flag for them.

    The flag names the file without its folder, so that both files may move.
    """
    from nn_opt.ir.weights import resources, save_weights

    found = list(resources(module))
    if not found or any(attribute.data.array is None for attribute in found):
        return []
    file = f"{path}.safetensors"
    save_weights(module, file)
    return [f"--weights={Path(file).name}"]


def pipeline_text(passes: Sequence[ModulePass]) -> str:
    """Return passes as --pass-pipeline takes them, in one line."""
    return str(Pipeline(*passes))
