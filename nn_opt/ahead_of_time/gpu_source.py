"""Kernels for GPUs as text, with the plan of their launches and, in a folder, a host in C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nn_opt.ahead_of_time import description
from nn_opt.ahead_of_time.gpu_host import host_files
from nn_opt.ahead_of_time.request import COMPILER, Made, Request, size_text
from nn_opt.backends.source.gpu_languages import language_of
from nn_opt.backends.source.gpu_program import KernelSource, print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target, target_named
from nn_opt.ir.verify import verify
from nn_opt.pipelines import expand, run_passes
from nn_opt.runtime.launch_plan import LaunchPlan
from nn_opt.runtime.manifest import Manifest

if TYPE_CHECKING:
    from nn_opt.backends.source.weights import Weights


@dataclass(frozen=True)
class _Lowered:
    """Kernels, what a host does with them, and their weights."""

    signature: Manifest
    source: KernelSource
    plan: LaunchPlan
    weights: Weights


def kernels(request: Request) -> Made:
    """Return kernels, the plan of their launches, and weights."""
    code = _lowered(request)
    return Made(_files(request, code), (_summary(code),))


def folder(request: Request) -> Made:
    """Return kernels, the plan of their launches, weights, and a host in C where there is one."""
    code = _lowered(request)
    files = _files(request, code)
    host = host_files(request, code.source, code.plan, list(files))
    said = {
        "launches": code.plan.launches,
        "arena_bytes": sum(buffer.size for buffer in code.plan.with_role("arena")),
        "weights": {"bytes": code.weights.size, "file": f"{request.output.name}.weights"},
        "files": [*files, *host],
    }
    targets = [{"name": request.target, "language": code.plan.language}]
    text = description.description(request, code.signature, targets, said)
    return Made({**files, **host, f"{request.output.name}.json": text.encode()}, (_summary(code),))


def _lowered(request: Request) -> _Lowered:
    request.signature()
    module = request.module()
    signature = signature_of(module)
    verify(module)
    set_target(module, target_named(request.target).name)
    names = ("lower-to-loops", "lower-to-gpu")
    first = expand("optimize-graph", request.flags)
    run_passes(make_context(), module, [*first, *(step for name in names for step in expand(name))])
    title = f"{request.title}, compiled by {COMPILER}"
    source = print_kernels(module, language_of(module), title)
    plan, weights = plan_launches(module, source, signature)
    return _Lowered(signature, source, plan, weights)


def _files(request: Request, code: _Lowered) -> dict[str, bytes]:
    return {
        request.output.name: code.source.text.encode(),
        f"{request.output.name}.plan.json": code.plan.to_json().encode(),
        f"{request.output.name}.weights": code.weights.content(),
    }


def _summary(code: _Lowered) -> str:
    arena = sum(buffer.size for buffer in code.plan.with_role("arena"))
    sizes = f"weights {size_text(code.weights.size)}, arena {size_text(arena)}"
    return f"{len(code.plan.kernels)} kernels, {code.plan.launches} launches; {sizes}"
