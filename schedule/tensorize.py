"""The primitive tensorize: a loop becomes an instruction that the compiler knows by name."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from nn_opt.dialects.loop import ForKind, ForOp
from nn_opt.schedule.intrinsics import INTRINSICS
from nn_opt.schedule.nest import loop_name, refuse
from nn_opt.schedule.unify import Mismatch, unify

ATTRIBUTE = "intrinsic"  # of a vector loop: what --tensorize-loops makes of it


def tensorize(loop: ForOp, intrinsic: str) -> None:
    """Mark a loop to become an intrinsic; refuses one that does something else."""
    if intrinsic not in INTRINSICS:
        hint = f"the intrinsics are {', '.join(INTRINSICS)}"
        refuse(loop, f"tensorize: no intrinsic is named {intrinsic!r}", hint=hint)
    if loop.how is not ForKind.SERIAL:
        problem = f"tensorize: loop {loop_name(loop)} is already marked {loop.how.value}"
        refuse(loop, problem, hint="tensorize a plain loop")
    try:
        unify(INTRINSICS[intrinsic], loop)
    except Mismatch as mismatch:
        problem = f"tensorize: loop {loop_name(loop)} is no {intrinsic}: {mismatch}"
        refuse(loop, problem, hint="split and reorder to the loops of the intrinsic first")
    loop.how = ForKind.VECTOR
    loop.attributes[ATTRIBUTE] = StringAttr(intrinsic)
