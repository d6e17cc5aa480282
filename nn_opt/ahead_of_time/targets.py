"""The targets that nn-compile is told: one, several, or those of a portable library."""

from __future__ import annotations

import os

from nn_opt.driver.models import fail

PORTABLE = "portable"  # for any machine of this one's kind
_PORTABLE = {
    "x86_64": ("x86-64-v4", "x86-64-v3", "x86-64"),
    "aarch64": ("neon", "aarch64"),
    "riscv64": ("riscv64",),
}
WEB = "web"  # WebAssembly for engines of today, JavaScript for all
_WEB = ("wasm-relaxed", "wasm", "js")
LANGUAGES = ("c", "js")  # source text, not planned for a machine


def targets_of(text: str) -> tuple[str, ...]:
    """Return the targets that a text names, which stand between commas.

    Raises: DiagnosticError for a name that is none.
    """
    if text == PORTABLE:
        machine = os.uname().machine
        if machine not in _PORTABLE:
            fail(f"error: no portable code for {machine}, only {', '.join(_PORTABLE)}")
        return _PORTABLE[machine]
    if text == WEB:
        return _WEB
    is_one = text.startswith("llvm ")  # its features stand between commas, too
    names = dict.fromkeys([text] if is_one else (name.strip() for name in text.split(",")))
    for name in names:
        family_of(name)
    return tuple(names)


def family_of(name: str) -> str:
    """Return what kind of target a name stands for.

    Raises: DiagnosticError for a name that is none.
    """
    from nn_opt.ir.target import PLANS, is_target, target_named, unknown_target

    if name in LANGUAGES:
        return name
    if not is_target(name):
        raise unknown_target(name, ("c", WEB, PORTABLE))
    if name in PLANS:
        return "plan"
    target = target_named(name)
    if target.gpu is not None:
        return target.gpu.language
    if target.triple.startswith("wasm"):
        return "wasm"
    return "machine" if target.has_threads else "bare"
