"""xDSL's own passes as passes of nn-opt: their names begin with `xdsl-`, as in --xdsl-cse."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from inspect import cleandoc
from subprocess import CalledProcessError
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker
from xdsl.transforms import get_all_passes
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.locations import located

PREFIX = "xdsl-"
SOURCE = "xDSL"


def names() -> list[str]:
    """Return the names of all passes that xDSL has, as nn-opt calls them."""
    return sorted(PREFIX + name for name in get_all_passes())


def has_pass(name: str) -> bool:
    """Return whether a name is that of a pass of xDSL."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX) in get_all_passes()


@cache
def load(name: str) -> type[ModulePass]:
    """Return the class of a pass: xDSL's, under its name here, with errors worded as ours."""
    own = get_all_passes()[name.removeprefix(PREFIX)]()
    members: dict[str, object] = {
        "name": name,
        "own": own,
        "apply": _apply,
        "__doc__": _documentation(own),
        "__annotations__": {"own": ClassVar[type[ModulePass]]},
    }
    return type(own.__name__, (own,), members)


def _documentation(own: type[ModulePass]) -> str:
    text = cleandoc(own.__doc__ or "")
    if not text or text.startswith(f"{own.__name__}("):  # what `dataclass` writes
        text = f"The pass {own.name} of xDSL."
    return f"{text}\n\nxDSL has it in {own.__module__}."


def _apply(self: Any, ctx: Context, op: ModuleOp) -> None:
    own: type[ModulePass] = self.own
    try:
        with located(op), _located_patterns():
            own.apply(self, ctx, op)
    except DiagnosticError:
        raise
    except DiagnosticException as error:
        raise PassFailedException(_worded(self.name, str(error), error)) from error
    except Exception as error:  # any: xDSL's passes assert and raise what comes to hand
        text = f"xDSL's pass stopped with {type(error).__name__}: {error}"
        raise PassFailedException(_worded(self.name, text, error)) from error


def _worded(name: str, text: str, error: Exception) -> str:
    """Return a message that names the pass; of one with the whole module, only what is wrong."""
    if ": error: " in text.split("\n")[0]:
        return text
    cause = error.__cause__
    if isinstance(cause, CalledProcessError):
        text = f"{text}: {cause.stderr or cause}"
    lines = [line for line in text.strip().split("\n") if line.strip()] or [type(error).__name__]
    return f"error: --{name}: {lines[0]}"


@contextmanager
def _located_patterns() -> Generator[None]:
    """While active, what xDSL's rewriting makes takes the place of the op that was matched."""
    original = PatternRewriteWalker._process_worklist  # pyright: ignore[reportPrivateUsage]
    PatternRewriteWalker._process_worklist = _process  # pyright: ignore[reportPrivateUsage]
    try:
        yield
    finally:
        PatternRewriteWalker._process_worklist = original  # pyright: ignore[reportPrivateUsage]


def _process(self: PatternRewriteWalker, listener: PatternRewriterListener) -> bool:
    """Do what the method of xDSL's walker does, in the place of each op in turn."""
    worklist = self._worklist  # pyright: ignore[reportPrivateUsage]
    changed = False
    while worklist:
        op = worklist.pop()
        rewriter = PatternRewriter(op)
        rewriter.extend_from_listener(listener)
        with located(op):
            self.pattern.match_and_rewrite(op, rewriter)
        changed |= rewriter.has_done_action
    return changed
