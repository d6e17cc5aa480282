"""A model as one object file for C programs: code, weights, thread pool and a plain C interface."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nn_opt.backends.llvm.cpu_checks import needs_of
from nn_opt.backends.llvm.library_glue import Interface, Variant, glue, text_of
from nn_opt.backends.llvm.object import emit_linked
from nn_opt.ir.target import Target
from nn_opt.runtime.loader import find_section
from nn_opt.runtime.manifest import Manifest
from nn_opt.runtime.memory import Block
from nn_opt.runtime.pool import has_pool, pool_text

_SECTION = "nn_weights"
_DEFINITION = re.compile(r"^(define .*?)((?: !dbg !\d+)? \{)$", re.MULTILINE)


def identifier(stem: str) -> str:
    """Return the C name made of a file's name."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"model_{name}" if name[:1].isdigit() or not name else name


def variant(text: str, target: Target, manifest: Manifest) -> Variant:
    """Return code that runs where the processor has what its target says.

    Raises: DiagnosticError for a processor whose features are not known.
    """
    return Variant(text, target, needs_of(target), manifest.arena_bytes)


def library_object(
    variants: Sequence[Variant], base: Target, weights: Block, interface: Interface
) -> bytearray:
    """Return the object file that defines the functions of an interface and shows nothing else.

    base: the least processor, for which all is made that chooses among the variants. They stand
    in the order of preference; weights are those of all. Weights are zeros for LLVM, and filled
    into its object file: as text they would be three times as long.
    """
    several = len(variants) > 1 or base != variants[0].target
    parts = [
        _renamed(_tuned(v.text, v.target) if several else v.text, k) for k, v in enumerate(variants)
    ]
    size = max(weights.bytes.nbytes, 1)
    machine = base.architecture
    pool = pool_text(machine) if interface.hosted and has_pool(machine) else text_of("serial_pool")
    parts += [pool, glue(interface, variants, size, _SECTION)]
    return _fill(emit_linked(parts, interface.public, base), weights)


def _tuned(text: str, target: Target) -> str:
    """Return code each function of which says what processor it is for."""
    features = f' "target-features"="{target.features}"' if target.features else ""
    words = rf'\1 "target-cpu"="{target.cpu}"{features}\2'
    return _DEFINITION.sub(words, text)


def _renamed(text: str, number: int) -> str:
    return text.replace("@nn_main(", f"@nn_main.{number}(")


def _fill(data: bytes, weights: Block) -> bytearray:
    """Put the weights where the object has zeros for them."""
    offset, size = find_section(data, _SECTION)
    assert size >= weights.bytes.nbytes, "the section is too small for the weights"
    filled = bytearray(data)
    filled[offset : offset + weights.bytes.nbytes] = weights.bytes.data
    return filled
