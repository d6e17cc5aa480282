"""`--debug-counter=PASS=N` and `--disable-pass=NAME`: how much of a pass may happen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.ir.counters import Counter, activate
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pass_specs import suggestion
from nn_opt.pipelines import PIPELINES
from nn_opt.registry import PASSES, is_pass


class DebugCounter(Instrument):
    """Let only the first so many rewrites of a pass happen; the count runs on if it runs again.

    Raises: DiagnosticError for an unknown pass, TypeError for a limit that is no natural number.

    >>> import nn_opt
    >>> module = nn_opt.parse('''func.func @f(%x: f32) -> f32 {
    ...   %one = arith.constant 1.0 : f32
    ...   %y = arith.mulf %x, %one : f32
    ...   %z = arith.mulf %y, %one : f32
    ...   func.return %z : f32
    ... }''')
    >>> once = nn_opt.DebugCounter({"canonicalize": 1})
    >>> str(nn_opt.Pipeline("canonicalize").run(module, instruments=[once])).count("mulf")
    1
    >>> once.counters["canonicalize"].seen
    1
    """

    def __init__(self, limits: Mapping[str, int]) -> None:
        for name, limit in limits.items():
            known("--debug-counter", name)
            if type(limit) is not int or limit < 0:
                raise TypeError(f"the limit of {name} is {limit!r}, expected a number of rewrites")
        self.counters = {name: Counter(limit) for name, limit in limits.items()}

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        activate(self.counters.get(step.name))

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        activate(None)

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        activate(None)

    def left(self) -> list[str]:
        """Return the flags for what is left of the counters."""
        return [
            f"--debug-counter={name}={(counter.limit or 0) - counter.seen}"
            for name, counter in self.counters.items()
        ]


def parse_limits(texts: Iterable[str]) -> dict[str, int]:
    """Return the limits of texts such as `cse=3`.

    Raises: DiagnosticError for a bad number.
    """
    limits: dict[str, int] = {}
    for text in texts:
        name, _, limit = text.partition("=")
        if not limit.isdecimal():
            raise DiagnosticError(f"error: --debug-counter is '{text}', expected PASS=NUMBER")
        limits[name] = int(limit)
    return limits


class DisablePass(Instrument):
    """Leave out passes, wherever in a pipeline they are.

    Raises: DiagnosticError for an unknown pass.

    >>> import nn_opt
    >>> module = nn_opt.parse("func.func private @f()\\n")
    >>> timing = nn_opt.Statistics()
    >>> skip = nn_opt.DisablePass("cse")
    >>> _ = nn_opt.Pipeline("canonicalize,cse").run(module, instruments=[skip, timing])
    >>> timing.of("cse")
    {}
    """

    def __init__(self, *names: str) -> None:
        for name in names:
            known("--disable-pass", name)
        self.names = frozenset(names)

    def should_run(self, step: ModulePass, module: ModuleOp) -> bool:
        return step.name not in self.names


def known(flag: str, name: str) -> None:
    """Check the name of a pass.

    Raises: DiagnosticError if there is none of that name.
    """
    if not is_pass(name):
        hint = suggestion(name, list(PASSES))
        if name in PIPELINES:
            hint = f"\n  hint: it is a pipeline: name one of its passes, see --pass-help={name}"
        raise DiagnosticError(f"error: {flag}: unknown pass '{name}'{hint}")
