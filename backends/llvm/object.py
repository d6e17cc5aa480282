"""LLVM IR text into machine code or assembly, for any target that LLVM knows.

Code for this machine's kind of processor is made in this process, other code in a child: LLVM ends
the process where it cannot make code of something.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from nn_opt.backends.llvm import worker
from nn_opt.backends.llvm.child import make_in_child
from nn_opt.backends.llvm.worker import Job
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import Target
from nn_opt.runtime.llvm import llvm

# The passes of `clang -O<level>` undo register tiles (55 instead of 117 GFLOP/s), so none run
# unless asked for; code generation is at its best level.
PASSES_DEFAULT = 0
# Parts of code generation that took more than half of its time on x86 and made no model faster:
# places are sums made where they change, so that no loop has strengths to reduce, and processors
# that run code out of order need no second scheduling.
SPARED = ("disable-lsr", "disable-post-ra")
_options = threading.Lock()  # LLVM's options are those of the whole process


def job_for(target: Target, parts: Sequence[str], **settings: Any) -> Job:
    """Return the job of making code for a target; `settings` are further fields of `Job`."""
    return Job(parts, target.triple, target.cpu, target.features, target.abi, **settings)


def machine_for(target: Target) -> Any:
    """Return LLVM's description of a target; its code may go into a shared library.

    Raises: DiagnosticError if this LLVM has no such target.
    """
    if is_native(target):
        require_known_words(target)
    try:
        return worker.machine_of(job_for(target, ()))
    except worker.UnknownTarget as error:
        raise _unknown(target, error) from error


def _unknown(target: Target, error: Exception) -> DiagnosticError:
    return DiagnosticError(f"error: LLVM does not know {target.triple!r}: {error}")


def emit_object(text: str, target: Target, passes: int = PASSES_DEFAULT) -> bytes:
    """Return the object file of LLVM IR text after LLVM's own passes of a level, 0 to 3."""
    return make(job_for(target, (text,), passes=passes), target)


def emit_linked(parts: Sequence[str], public: Sequence[str], target: Target) -> bytes:
    """Return one object file of several texts, which shows nothing but what is public."""
    return make(job_for(target, parts, public=public), target)


def emit_assembly(
    text: str, target: Target, passes: int = PASSES_DEFAULT, *, comments: bool = False
) -> str:
    """Return the assembly of LLVM IR text; comments say what goes to and comes from the stack."""
    job = job_for(target, (text,), output=worker.ASSEMBLY, passes=passes, comments=comments)
    return make(job, target).decode()


def make(job: Job, target: Target) -> bytes:
    """Return what a job for a target asks for.

    Raises: DiagnosticError for what LLVM has no code for; RefusedCode.
    """
    try:
        if is_native(target):
            require_known_words(target)
            with _sparing(target):
                return worker.made(job)
        return make_in_child(job, target.name)
    except worker.UnknownTarget as error:
        raise _unknown(target, error) from error
    except worker.Refused as error:
        # The text is this compiler's own: whatever LLVM objects to is a fault here.
        raise RefusedCode(str(error), function_at(str(error), job.parts[0])) from error


@lru_cache
def require_known_words(target: Target) -> None:
    """Refuse features and processors of a target written out that LLVM would ignore.

    It says so on stderr alone, so a child is asked; targets of a table are known to be right.
    Raises: DiagnosticError.
    """
    if target.name.startswith("llvm "):
        make_in_child(job_for(target, ("",)), target.name)


@lru_cache(maxsize=1)
def _here() -> str:
    triple: str = llvm.get_process_triple()
    return triple.partition("-")[0]


def is_native(target: Target) -> bool:
    """Return whether a target's processor is of this machine's kind."""
    return target.triple.partition("-")[0] == _here()


@contextmanager
def _sparing(target: Target) -> Generator[None]:
    """Leave out, for a target, the parts of code generation to be spared."""
    if not target.triple.startswith("x86_64"):
        yield
        return
    with _options:
        try:
            for name in SPARED:
                llvm.set_option("nn-opt", f"-{name}=true")
            yield
        finally:  # for whoever else in this process has LLVM make code
            for name in SPARED:
                llvm.set_option("nn-opt", f"-{name}=false")


class RefusedCode(AssertionError):
    """LLVM finds a mistake in the code that was generated for it; `function` has it, if known."""

    def __init__(self, problem: str, function: str) -> None:
        where = f" for @{function}" if function else ""
        super().__init__(f"LLVM refuses the code generated{where}: {problem}")
        self.function = function


def function_at(problem: str, text: str) -> str:
    """Return the function of LLVM IR text that a message of LLVM is about, or nothing."""
    lines = text.split("\n")
    place = re.search(r"<string>:(\d+):", problem)
    quoted = {line.rstrip() for line in problem.split("\n") if line.startswith("  ")}
    last = int(place[1]) if place else 1 + next((k for k, x in enumerate(lines) if x in quoted), -1)
    starts = (re.match(r'define .*?@"?([^"(]+)"?\(', line) for line in reversed(lines[:last]))
    return next((start[1] for start in starts if start is not None), "")
