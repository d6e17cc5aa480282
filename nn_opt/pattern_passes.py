"""Passes of one's own: from patterns, from classes; each becomes a flag."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, overload

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.rewriting import rewrite as apply_patterns
from nn_opt.ir.statistics import Statistic, is_counting
from nn_opt.ir.watching import Tried, watching
from nn_opt.pass_names import camel_case
from nn_opt.pass_options import checked_option
from nn_opt.pass_specs import short_spec
from nn_opt.patterns import FunctionPattern, Option, make_pattern
from nn_opt.pipeline import Pipeline, Step
from nn_opt.pipeline_text import FUNCTION
from nn_opt.pipelines import add_pipeline, pipeline_owners
from nn_opt.plans import OnFunctions
from nn_opt.registry import is_pass, register

PassClass = TypeVar("PassClass", bound=type[ModulePass])
Matcher: TypeAlias = Callable[..., None] | RewritePattern


class PatternPass(ModulePass):
    """Applies patterns until nothing changes."""

    patterns: ClassVar[tuple[RewritePattern, ...]]
    once: ClassVar[bool]
    erase_dead: ClassVar[bool]
    statistics: ClassVar[tuple[Statistic, ...]]
    runs_on_functions: ClassVar[bool] = True

    if TYPE_CHECKING:  # subclasses have fields for the options of their patterns

        def __init__(self, **options: Any) -> None: ...

    def __post_init__(self) -> None:
        """Check the options.

        Raises: TypeError for a value of another type.
        """
        for option in dataclasses.fields(self):
            given = getattr(self, option.name)
            value = checked_option(type(self).__name__, option.name, given, option.type)
            object.__setattr__(self, option.name, value)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = [self._with_options(each) for each in self.patterns]
        with watching([_Fired(*self.statistics)] if is_counting() else []):
            apply_patterns(op, *patterns, once=self.once, erase_dead=self.erase_dead)

    def _with_options(self, each: RewritePattern) -> RewritePattern:
        if not isinstance(each, FunctionPattern):
            return each
        return each.with_options(**{key: getattr(self, key) for key in each.open_options})


@dataclass(frozen=True)
class _Fired:
    """Counts the patterns that change something."""

    statistic: Statistic

    def before_pattern(self, pattern: Tried, op: Operation) -> None:
        pass

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        if changed:
            self.statistic.add()


@overload
def rewrite(
    name: str, *, once: bool = ..., erase_dead: bool = ...
) -> Callable[[Matcher], type[PatternPass]]: ...
@overload
def rewrite(
    name: str,
    patterns: Sequence[Matcher],
    *,
    once: bool = ...,
    erase_dead: bool = ...,
    doc: str = ...,
) -> type[PatternPass]: ...
def rewrite(
    name: str,
    patterns: Sequence[Matcher] | None = None,
    *,
    once: bool = False,
    erase_dead: bool = True,
    doc: str = "",
) -> type[PatternPass] | Callable[[Matcher], type[PatternPass]]:
    """Make a pass of one pattern, as a decorator, or of several; `name` is its flag.

    The pattern is a function as `pattern` takes it, or any `RewritePattern`. Its options become
    options of the pass.

    once: one sweep in program order, new ops are not visited again; else until nothing changes.
    erase_dead: pure ops without readers go as they are met.
    doc: what the pass does, if it is made of several patterns.
    Raises: DiagnosticError for a name that is taken, TypeError for what is no pattern.

    >>> import nn_opt
    >>> from nn_opt.dialects import graph
    >>> @nn_opt.rewrite("halve-relus")
    ... def halve_relus(op: graph.ReluOp, rewriter, keep: bool = False):
    ...     '''relu(relu(x))  ->  relu(x)'''
    ...     if isinstance(op.x.owner, graph.ReluOp) and not keep:
    ...         rewriter.replace(op, [], [op.x])
    >>> halve_relus()
    HalveRelusPass(keep=False)
    >>> module = nn_opt.parse('''func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    ...   %y = graph.relu %x : tensor<2xf32>
    ...   %z = graph.relu %y : tensor<2xf32>
    ...   func.return %z : tensor<2xf32>
    ... }''')
    >>> str(nn_opt.Pipeline("halve-relus").run(module)).count("graph.relu")
    1
    """
    given: Any = name
    if not isinstance(given, str):
        raise TypeError('a rewrite has a flag: @nn_opt.rewrite("no-double-relu")')
    names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]

    def define(*matchers: Matcher) -> type[PatternPass]:
        found = tuple(_pattern(each, names) for each in matchers)
        text = cleandoc(doc or _text_of(matchers))
        cls = _define(name, found, text, matchers[0])
        cls.once, cls.erase_dead = once, erase_dead
        register(cls, source_of(cls.__module__), pipeline_owners())
        return cls

    return define if patterns is None else define(*patterns)


def _pattern(matcher: Matcher, names: dict[str, Any]) -> RewritePattern:
    if isinstance(matcher, RewritePattern):
        return matcher
    if not isinstance(matcher, type):
        return make_pattern(matcher, names)
    cls: type[Any] = matcher
    if not issubclass(cls, RewritePattern):
        raise TypeError(f"a pattern is a function or a RewritePattern, not {cls!r}")
    return cls()


def _text_of(matchers: Sequence[Matcher]) -> str:
    """Return what the documentation of patterns says, one after the other."""
    return "\n".join(cleandoc(_function(each).__doc__ or "") for each in matchers).strip()


def _function(matcher: Matcher) -> Any:
    if isinstance(matcher, FunctionPattern):
        return matcher.function
    return type(matcher) if isinstance(matcher, RewritePattern) else matcher


def _define(
    name: str, patterns: tuple[RewritePattern, ...], text: str, first: Matcher
) -> type[PatternPass]:
    options: dict[str, Option] = {}
    for each in patterns:
        for key, option in each.open_options.items() if isinstance(each, FunctionPattern) else ():
            if options.setdefault(key, option) != option:
                raise TypeError(f"--{name}: two patterns have an option {key!r} of different kinds")
    title = f"{camel_case(name)}Pass"
    body = {
        "__doc__": text or "Apply patterns until nothing changes.",
        "__qualname__": title,
        "name": name,
        "patterns": patterns,
        "statistics": (Statistic(name, "patterns-applied", "patterns that changed something"),),
    }
    fields = [(k, o.type, dataclasses.field(default=o.default)) for k, o in options.items()]
    cls = dataclasses.make_dataclass(
        title, fields, bases=(PatternPass,), namespace=body, frozen=True
    )
    cls.__module__ = _function(first).__module__
    return cls


def register_pass(cls: PassClass) -> PassClass:
    """Make a flag of a pass; a decorator of the class.

    Options are the fields of a frozen dataclass; `runs_on_functions = True` lets `func.func(...)`
    hold it.
    Raises: DiagnosticError for a name that is taken, TypeError for what is no pass.

    >>> import nn_opt
    >>> from xdsl.passes import ModulePass
    >>> @nn_opt.register_pass
    ... class NamelessPass(ModulePass):
    ...     '''Take the name of the module.'''
    ...     name = "nameless"
    ...     def apply(self, ctx, op):
    ...         op.properties.pop("sym_name", None)
    >>> nn_opt.passes.Nameless()
    NamelessPass()
    """
    given: Any = cls
    if not (isinstance(given, type) and issubclass(given, ModulePass)):
        raise TypeError(f"a pass is a class derived from ModulePass, not {cls!r}")
    register(cls, source_of(cls.__module__), pipeline_owners())
    return cls


def register_pipeline(name: str, *steps: Step) -> Pipeline:
    """Make a flag of steps as `Pipeline` takes them, and return them; `name` is the flag.

    An option of the flag goes to each pass that has it.
    Raises: DiagnosticError for a name that is taken, or for passes that are no flags or are in
      `func.func(...)`.

    >>> import nn_opt
    >>> nn_opt.register_pipeline("tidy", "canonicalize,cse", nn_opt.passes.FuseOps(max_depth=4))
    Pipeline('canonicalize,cse,fuse-ops{max-depth=4}')
    >>> nn_opt.Pipeline("tidy{max-depth=5}").passes[2]
    FuseOpsPass(max_depth=5)
    """
    pipeline = Pipeline(*steps)
    if any(isinstance(step, OnFunctions) for step in pipeline):
        hint = f"leave it out, and say {FUNCTION}({name})"
        raise DiagnosticError(f"error: --{name}: a flag has no {FUNCTION}(...)\n  hint: {hint}")
    if lost := next((step.name for step in pipeline if not is_pass(step.name)), None):
        hint = "nn_opt.register_pass makes one of its class"
        raise DiagnosticError(f"error: --{name}: '{lost}' is no flag\n  hint: {hint}")
    module = sys._getframe(1).f_globals["__name__"]  # pyright: ignore[reportPrivateUsage]
    add_pipeline(name, map(short_spec, pipeline), source_of(module))
    return pipeline


def source_of(name: str) -> str:
    """Return the file of a module, as short as can be; else its name."""
    path: str | None = getattr(sys.modules.get(name), "__file__", None)
    if path is None:
        return name
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
