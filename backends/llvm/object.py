"""LLVM IR text into machine code or assembly, for any target that LLVM knows."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import Target
from nn_opt.runtime.llvm import llvm

# The passes of `clang -O<level>` undo register tiles (55 instead of 117 GFLOP/s), so none run
# unless asked for; code generation is at its best level.
PASSES_DEFAULT = 0
CODEGEN_LEVEL = 3
# Parts of code generation that took more than half of its time on x86 and made no model faster:
# places are sums made where they change, so that no loop has strengths to reduce, and processors
# that run code out of order need no second scheduling.
SPARED = ("disable-lsr", "disable-post-ra")
_Code = TypeVar("_Code", bytes, str)
_options = threading.Lock()  # LLVM's options are those of the whole process


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def machine_for(target: Target) -> Any:
    """Return LLVM's description of a target; its code may go into a shared library.

    Raises: DiagnosticError if this LLVM has no such target.
    """
    _initialize()
    try:
        known = llvm.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise DiagnosticError(f"error: LLVM does not know {target.triple!r}: {error}") from error
    return known.create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=CODEGEN_LEVEL,
        reloc="pic",
        codemodel="small",
    )


def emit_object(text: str, target: Target, passes: int = PASSES_DEFAULT) -> bytes:
    """Return the object file of LLVM IR text after LLVM's own passes of a level, 0 to 3."""
    machine = machine_for(target)
    module = _prepared(text, target, machine, passes)
    return generated(lambda: machine.emit_object(module), target)


def emit_assembly(
    text: str, target: Target, passes: int = PASSES_DEFAULT, *, comments: bool = False
) -> str:
    """Return the assembly of LLVM IR text; comments say what goes to and comes from the stack."""
    machine = machine_for(target)
    machine.set_asm_verbosity(comments)
    module = _prepared(text, target, machine, passes)
    return generated(lambda: machine.emit_assembly(module), target)


def generated(emit: Callable[[], _Code], target: Target) -> _Code:
    """Return what `emit` makes for a target without the parts of code generation to be spared."""
    if not target.triple.startswith("x86_64"):
        return emit()
    with _options:
        try:
            for name in SPARED:
                llvm.set_option("nn-opt", f"-{name}=true")
            return emit()
        finally:  # for whoever else in this process has LLVM make code
            for name in SPARED:
                llvm.set_option("nn-opt", f"-{name}=false")


def optimized(text: str, target: Target, passes: int) -> str:
    """Return LLVM IR text after LLVM's own pipeline."""
    return str(_prepared(text, target, machine_for(target), passes))


def parse_for(text: str, target: Target, context: Any) -> Any:
    """Return LLVM's module for LLVM IR text."""
    try:
        module = llvm.parse_assembly(text, context)
        module.triple = target.triple
        module.data_layout = str(machine_for(target).target_data)
        module.verify()
    except RuntimeError as error:
        # The text is this compiler's own: whatever LLVM objects to is a fault here.
        raise RefusedCode(str(error), function_at(str(error), text)) from error
    return module


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


def _prepared(text: str, target: Target, machine: Any, passes: int) -> Any:
    module = parse_for(text, target, llvm.create_context())
    if passes:
        tuning = llvm.create_pipeline_tuning_options(speed_level=passes)
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
    return module
