"""Atomics of languages like C: by their functions, or by loops that compare and exchange."""

from __future__ import annotations

from collections.abc import Mapping

from nn_opt.dialects.gpu import AtomicKind

# By functions on 32-bit integers: the end of their names, and whether they read unsigned ones.
INTEGERS: Mapping[AtomicKind, tuple[str, bool]] = {
    AtomicKind.AddI: ("add", False),
    AtomicKind.MaxS: ("max", False),
    AtomicKind.MinS: ("min", False),
    AtomicKind.MaxU: ("max", True),
    AtomicKind.MinU: ("min", True),
    AtomicKind.AndI: ("and", False),
    AtomicKind.OrI: ("or", False),
    AtomicKind.XorI: ("xor", False),
}
# By loops: what becomes of a float `a` and a value `b`.
FLOATS: Mapping[AtomicKind, str] = {
    AtomicKind.AddF: "a + b",
    AtomicKind.MaximumF: "maximum_f32(a, b)",
    AtomicKind.MinimumF: "minimum_f32(a, b)",
    AtomicKind.MaxNumF: "fmax(a, b)",
    AtomicKind.MinNumF: "fmin(a, b)",
}


def loops(template: str, spaces: Mapping[str, str]) -> dict[str, str]:
    """Return the functions of a language for floats, one for each kind and space."""
    return {
        f"{space}_{kind.value}_f32": template.replace("{name}", f"{space}_{kind.value}_f32")
        .replace("{space}", word)
        .replace("{new}", new)
        for space, word in spaces.items()
        for kind, new in FLOATS.items()
    }
