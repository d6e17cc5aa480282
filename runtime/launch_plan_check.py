"""Whether a launch plan from a file is one: its numbers are sizes, its places lie in buffers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from nn_opt.runtime.launch_plan import Copy, Launch, LaunchPlan, Place, Repeat, Step

MOST = 1 << 48  # bytes, and steps: more is a mistake, or worse


def problems(plan: LaunchPlan) -> Iterator[str]:
    """Yield what is wrong with a plan, in words."""
    sizes = {buffer.name: buffer.size for buffer in plan.buffers}
    kernels = {kernel.name: len(kernel.arguments) for kernel in plan.kernels}
    yield from _numbers("buffer sizes", sizes.values())
    yield from _numbers("shared sizes", (kernel.shared_bytes for kernel in plan.kernels))
    yield from _numbers("shapes", (size for buffer in plan.buffers for size in buffer.shape))
    yield from _numbers("blocks", (size for kernel in plan.kernels for size in kernel.block))
    for buffer in plan.buffers:
        if math.prod(buffer.shape) * buffer.numpy_dtype.itemsize > buffer.size and buffer.shape:
            yield f"buffer {buffer.name!r} has {buffer.size} bytes, less than its elements"
    yield from _of_steps(plan.steps, (), sizes, kernels)


def _of_steps(
    steps: Sequence[Step], counts: tuple[int, ...], sizes: dict[str, int], kernels: dict[str, int]
) -> Iterator[str]:
    for step in steps:
        match step:
            case Repeat(count=count, steps=inner):
                bad = list(_numbers("repeats", [count]))
                yield from bad or _of_steps(inner, (*counts, count), sizes, kernels)
            case Launch(kernel=kernel, grid=grid, arguments=arguments):
                yield from _numbers("grids", grid)
                if kernels.get(kernel) != len(arguments):
                    yield f"a launch of {kernel!r} has {len(arguments)} arguments"
                yield from _of_places(arguments, counts, sizes)
            case Copy(source=source, target=target):
                yield from _of_places((source, target), counts, sizes)


def _of_places(
    places: Iterable[Place], counts: Sequence[int], sizes: dict[str, int]
) -> Iterator[str]:
    for place in places:
        bad = list(_numbers("places", (place.offset, place.size, *map(abs, place.steps))))
        yield from bad or _beyond(place, counts, sizes.get(place.buffer, -1))


def _beyond(place: Place, counts: Sequence[int], size: int) -> Iterator[str]:
    """Yield where a place lies outside its buffer in some iteration; steps may go backwards."""
    moves = [step * max(n - 1, 0) for step, n in zip(place.steps, counts, strict=False)]
    first = place.offset + sum(min(move, 0) for move in moves)
    end = place.offset + place.size + sum(max(move, 0) for move in moves)
    if first < 0 or end > size:
        yield f"a place has the bytes {first} to {end} of buffer {place.buffer!r}"


def _numbers(what: str, numbers: Iterable[object]) -> Iterator[str]:
    for number in numbers:
        if type(number) is not int or not 0 <= number < MOST:
            yield f"{what} hold {number!r}, expected a size"
