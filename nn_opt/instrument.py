"""The base of everything that looks on while a pipeline runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from nn_opt.ir.watching import Tried

if TYPE_CHECKING:
    from nn_opt.pipeline import Pipeline


class Instrument:
    """Looks on while passes run; override what you want to hear of.

    Instruments are told in the order in which they are given before something happens, and in
    reverse after it, so that the first is outermost.

    >>> import nn_opt
    >>> class Counter(nn_opt.Instrument):
    ...     def after_pass(self, step, module):
    ...         print(f"{step.name}: {len(list(module.walk()))} ops")
    >>> module = nn_opt.parse('''func.func @f(%x: f32) {
    ...   %y = arith.mulf %x, %x : f32
    ...   func.return
    ... }''')
    >>> _ = nn_opt.Pipeline("cse,dce").run(module, instruments=[Counter()])
    cse: 4 ops
    dce: 3 ops
    """

    innermost: ClassVar[bool] = False
    """Whether it is told last before a pass and first after it, wherever it is in the list."""

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """The passes of a pipeline are about to run on a module."""

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """The passes have run, or one has failed."""

    def should_run(self, step: ModulePass, module: ModuleOp) -> bool:
        """Return whether a pass may run; one that may not is left out, and nothing told of it."""
        return True

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        """A pass is about to run."""

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        """A pass has run; an error raised here is one of the pass."""

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        """A pass raised `error`, or an instrument did at what it left; `module` may be broken."""

    def before_pattern(self, pattern: Tried, op: Operation) -> None:
        """A pattern, or the rule of a conversion, is about to be tried on an op."""

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        """It has been tried; if it changed something, `op` may be gone."""


def hears_patterns(instrument: Instrument) -> bool:
    """Return whether an instrument wants to be told of patterns."""
    cls = type(instrument)
    return (
        cls.before_pattern is not Instrument.before_pattern
        or cls.after_pattern is not Instrument.after_pattern
    )
