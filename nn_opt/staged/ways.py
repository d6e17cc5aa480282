"""The ways through a staged model that were compiled so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from nn_opt.staged.plan import HostStep, Plan
from nn_opt.staged.regions import Compiled, CutStep, HostCut, Region, Step


@dataclass(frozen=True)
class Way:
    """Values that became constants, how many programs run, and the nodes that the host runs."""

    baked: Mapping[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    stages: int = 0
    host: tuple[str, ...] = ()


def ways(step: Step, before: Way = Way()) -> Iterator[Way]:
    """Yield every way through a step that was taken, the one taken last at the end."""
    match step:
        case Compiled():
            yield replace(before, stages=before.stages + 1)
        case CutStep():
            if step.moved is not None:
                yield from ways(step.moved, before)
            before = replace(before, stages=before.stages + (step.first is not None))
            for _, rest in step.rests.items():
                yield from _through(rest, before)
        case HostCut():
            stages = before.stages + (step.first is not None)
            name = (step.host.name,)
            before = replace(before, stages=stages, host=before.host + name)
            yield from _through(step.rest, before) if step.rest.part.outputs else [before]
        case Plan():
            yield Way({}, len(list(regions_of(step))), tuple(host_names(step)))
        case _:
            yield before


def programs_of(step: Step) -> Iterator[Compiled]:
    """Yield the programs of the way that was taken last, in order, each of them once."""
    match step:
        case Compiled():
            yield step
        case CutStep():
            if step.moved is not None:
                yield from programs_of(step.moved)
                return
            yield from _programs_in(step.first)
            yield from _programs_in(step.rests.latest())
        case HostCut():
            yield from _programs_in(step.first)
            yield from _programs_in(step.rest)
        case Plan():
            for region in regions_of(step):
                yield from _programs_in(region)
        case _:
            return


def _programs_in(region: Region | None) -> Iterator[Compiled]:
    step = None if region is None else region.steps.latest()
    if step is not None:
        yield from programs_of(step)


def _through(region: Region, before: Way) -> Iterator[Way]:
    before = replace(before, baked={**before.baked, **region.baked})
    for _, step in region.steps.items():
        yield from ways(step, before)


def regions_of(plan: Plan) -> Iterator[Region]:
    """Yield the compiled regions of a plan, and of graphs in its nodes."""
    for step in plan.steps:
        if isinstance(step, HostStep):
            for body in step.bodies.values():
                yield from regions_of(body.plan)
        else:
            yield step


def host_names(plan: Plan) -> Iterator[str]:
    """Yield the nodes that the host runs, those of graphs in a node after it."""
    for step in plan.steps:
        if isinstance(step, HostStep):
            yield step.name
            for body in step.bodies.values():
                yield from host_names(body.plan)
