"""Passes to run in order, as an object: made of names, texts, passes and other pipelines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, overload

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.instruments.verifying import VerifyEach
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context
from nn_opt.ir.verify import verify as verify_module
from nn_opt.pass_options import make_checked
from nn_opt.pipeline_text import FUNCTION, Entry, parse_text, read_text
from nn_opt.pipelines import run_passes
from nn_opt.plans import Group, Member, OnFunctions, make_plan, plan_text, short_text, steps_of
from nn_opt.registry import runs_on_functions

Step: TypeAlias = "str | os.PathLike[str] | ModulePass | type[ModulePass] | Pipeline"


class Pipeline:
    """Passes to run in order.

    A step is a text as `--pass-pipeline` takes it, the path of a file with one, a pass, the class
    of a pass that needs no options, or another pipeline.

    >>> from nn_opt import Pipeline, passes
    >>> tidy = Pipeline("canonicalize,cse")
    >>> tidy + passes.FuseOps(max_depth=4)
    Pipeline('canonicalize,cse,fuse-ops{max-depth=4}')

    Pipelines never change, and their text is read back as the same passes:

    >>> print(tidy)
    builtin.module(canonicalize,cse)
    >>> Pipeline(str(tidy)) == tidy
    True
    >>> [step.name for step in tidy]
    ['canonicalize', 'cse']
    """

    __slots__ = ("_passes", "_plan")

    def __init__(self, *steps: Step) -> None:
        """Join steps.

        Raises: DiagnosticError for an unknown pass or option, TypeError for what is no step.
        """
        self._plan: tuple[Member, ...] = tuple(m for step in steps for m in _members(step))
        self._passes = tuple(steps_of(self._plan))

    @classmethod
    def from_entries(cls, entries: Sequence[Entry]) -> Pipeline:
        """Return what a parsed text or command line calls for."""
        return cls.from_plan(make_plan(entries))

    @classmethod
    def from_plan(cls, plan: Sequence[Member]) -> Pipeline:
        """Return the pipeline of passes and groups of passes."""
        made = cls()
        made._plan, made._passes = tuple(plan), tuple(steps_of(plan))
        return made

    @property
    def plan(self) -> tuple[Member, ...]:
        """The passes, in the named pipelines and `func.func(...)` that they are in."""
        return self._plan

    @property
    def passes(self) -> tuple[ModulePass, ...]:
        """The passes in order."""
        return self._passes

    def run(
        self,
        module: ModuleOp,
        instruments: Sequence[Instrument] = (),
        *,
        verify: bool = True,
        in_place: bool = False,
    ) -> ModuleOp:
        """Run the passes on a copy of a module, and return it.

        verify: the module is verified before the first pass and after each.
        in_place: change the module itself, and return it; it may be broken if a pass fails.
        Raises: DiagnosticError, VerifyException or PassFailedException, with a place, for what a
          pass refuses; `__notes__` says which pass it was.

        >>> import nn_opt
        >>> module = nn_opt.parse('''func.func @f(%x: f32) -> f32 {
        ...   %y = arith.mulf %x, %x : f32
        ...   %z = arith.mulf %x, %x : f32
        ...   func.return %z : f32
        ... }''')
        >>> print(nn_opt.print_module(nn_opt.Pipeline("cse").run(module)), end="")
        builtin.module {
          func.func @f(%x: f32) -> f32 {
            %y = arith.mulf %x, %x : f32
            func.return %y : f32
          }
        }
        """
        if not isinstance(module, ModuleOp):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = "nn_opt.parse makes one of a text or file"
            raise TypeError(f"a pipeline runs on a module, not {module!r}; {hint}")
        watchers = _instruments(instruments)
        result = module if in_place else module.clone()
        if verify:
            verify_module(result)
            if not any(isinstance(instrument, VerifyEach) for instrument in watchers):
                watchers = (*watchers, VerifyEach())
        self.apply(make_context(), result, watchers)
        return result

    def apply(
        self, context: Context, module: ModuleOp, instruments: Sequence[Instrument] = ()
    ) -> None:
        """Run the passes on a module itself; it is verified only if an instrument does so."""
        begun: list[Instrument] = []
        ordered = (_Naming(), *sorted(instruments, key=lambda one: one.innermost))
        try:
            for instrument in ordered:
                instrument.before_pipeline(self, module)
                begun.append(instrument)
            run_passes(context, module, self._passes, ordered)
        finally:
            for instrument in reversed(begun):
                instrument.after_pipeline(self, module)

    def on_functions(self) -> Pipeline:
        """Return what runs these passes on each function, one function after the other.

        Raises: DiagnosticError if one of them needs the whole module.

        >>> print(Pipeline("canonicalize,cse").on_functions())
        builtin.module(func.func(canonicalize,cse))
        """
        return Pipeline.from_plan((Group(FUNCTION, tuple(_inside(m) for m in self._plan)),))

    def __add__(self, other: Step) -> Pipeline:
        return Pipeline(self, other)

    def __radd__(self, other: Step) -> Pipeline:
        return Pipeline(other, self)

    def __iter__(self) -> Iterator[ModulePass]:
        return iter(self._passes)

    @overload
    def __getitem__(self, index: int) -> ModulePass: ...
    @overload
    def __getitem__(self, index: slice) -> Pipeline: ...
    def __getitem__(self, index: int | slice) -> ModulePass | Pipeline:
        """Return a pass, or the pipeline of some.

        >>> Pipeline("compile")[:2]
        Pipeline('infer-shapes,recognize-int8')
        """
        found = self._passes[index]
        return Pipeline(*found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._passes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and self._passes == other._passes

    def __hash__(self) -> int:
        return hash(self._passes)

    def __str__(self) -> str:
        return plan_text(self._plan)

    def __repr__(self) -> str:
        return f"Pipeline({short_text(self._plan)!r})" if self._plan else "Pipeline()"


def _instruments(given: Any) -> tuple[Instrument, ...]:
    """Return what looks on.

    Raises: TypeError for what is no list of instruments.
    """
    if isinstance(given, Instrument):
        raise TypeError(f"instruments are a list: [{type(given).__name__}(...)]")
    found = tuple(given)
    for one in found:
        if not isinstance(one, Instrument):
            raise TypeError(f"an instrument is an object whose class is an Instrument, not {one!r}")
    return found


class _Naming(Instrument):
    """Notes on an error which pass it came from."""

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        error.add_note(f"in the pass {step.name}")


def _members(step: Step) -> tuple[Member, ...]:
    if isinstance(step, Pipeline):
        return step.plan
    if isinstance(step, str):
        return make_plan(parse_text(step, "pipeline"))
    if isinstance(step, OnFunctions):
        return (Group(FUNCTION, (step,)),)
    if isinstance(step, ModulePass):
        return (step,)
    if isinstance(step, os.PathLike):
        return make_plan(read_text(os.fspath(step)))
    other: Any = step
    if isinstance(other, type) and issubclass(other, ModulePass):
        return (make_checked(other, other.__name__),)
    raise TypeError(
        f"a step of a pipeline is a text, a path, a pass, a class of passes or a Pipeline,"
        f" not {step!r}"
    )


def _inside(member: Member) -> Member:
    if isinstance(member, Group):
        inner = tuple(_inside(inner) for inner in member.members)
        return member if member.title == FUNCTION else Group(member.title, inner)
    if isinstance(member, OnFunctions):
        return member
    if not (runs_on_functions(member.name) or getattr(member, "runs_on_functions", False)):
        raise DiagnosticError(f"error: --{member.name} needs the whole module")
    return OnFunctions(member)
