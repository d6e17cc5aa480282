"""Kernels brought down to vectors, pass by pass."""

from __future__ import annotations

from kernels import loops
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from nn_opt.ir.target import set_target
from nn_opt.registry import load_pass

STEPS = (
    "default-schedules",
    "apply-schedule",
    "lower-blocks",
    "flatten-accesses",
    "partition-loops",
    "compact-buffers",
    "vectorize-loops",
)


def lower(ctx: Context, module: ModuleOp, target: str, until: str) -> ModuleOp:
    """Run the steps on loop nests, up to one of them."""
    set_target(module, target)
    for name in STEPS[: STEPS.index(until) + 1]:
        load_pass(name)().apply(ctx, module)
    module.verify()
    return module


def lowered(text: str, target: str, until: str) -> ModuleOp:
    """Return the module of a kernel after the steps, up to one of them."""
    ctx, module, _ = loops(text)
    return lower(ctx, module, target, until)
