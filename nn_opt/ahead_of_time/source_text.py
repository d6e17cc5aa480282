"""Passes down to source text, and what is said of a tensor in a comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nn_opt.ahead_of_time.request import Request
from nn_opt.backends.source.program import plain
from nn_opt.build import signature_of
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import SCALAR, set_target, target_named
from nn_opt.ir.verify import verify
from nn_opt.pipelines import expand, run_passes
from nn_opt.runtime.manifest import Manifest, TensorInfo

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

OWN_PLAN = {"c": SCALAR.name, "js": SCALAR.name, "cpu": SCALAR.name}


def lowered(request: Request, pipeline: str, plan: str) -> tuple[ModuleOp, Manifest]:
    """Return the model ready to be printed, laid out for a target, and what goes in and out."""
    request.signature()
    module = request.module()
    manifest = signature_of(module)
    verify(module)
    set_target(module, target_named(OWN_PLAN.get(plan, plan)).name)
    first = [*expand("optimize-graph", request.flags), *expand("lower-to-loops")]
    run_passes(make_context(), module, [*first, *expand(pipeline)])
    return module, manifest


def listing(infos: Sequence[TensorInfo]) -> str:
    """Return the lines of a comment that describe inputs or outputs."""
    return "\n".join(f"     [{k}] {plain(str(info))}" for k, info in enumerate(infos))
