"""Inputs that are indices: what they hold must name elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class OutOfRange(ValueError):
    """An input, by name, is to hold places on an axis of a size, and holds something else."""

    def __init__(self, problem: str, name: str, size: int) -> None:
        super().__init__(problem)
        self.name = name
        self.size = size


class Named(Protocol):
    """An input."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class IndexRange:
    """Elements of an input, by its number, that a node takes as places on an axis of a size.

    cuts: of which places on which axes they are, as (axis, start, stop, step); () for all.
    """

    input: int
    node: str
    size: int
    cuts: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether all fields are what they should be."""
        numbers = [self.input, self.size, *(number for cut in self.cuts for number in cut)]
        whole = all(type(number) is int and 0 <= number < 1 << 62 for number in numbers)
        return whole and type(self.node) is str and all(step for *_, step in self.cuts)


def check_indices(
    ranges: Sequence[IndexRange], infos: Sequence[Named], arrays: Sequence[Array]
) -> None:
    """Look at the least and the greatest of each input that is an index: a microsecond for few.

    Raises: OutOfRange naming the input and what it holds.
    """
    for known in ranges:
        array = arrays[known.input]
        if known.cuts:
            array = array[_slices(known)]
        if not array.size:
            continue
        size = known.size  # `argmax` takes a quarter of the time of `max`
        if array.item(array.argmax()) >= size or array.item(array.argmin()) < -size:
            name = infos[known.input].name
            raise OutOfRange(_problem(name, known, array), name, size)


def _slices(known: IndexRange) -> tuple[slice, ...]:
    slices = [slice(None)] * (1 + max(cut[0] for cut in known.cuts))
    for axis, start, stop, step in known.cuts:
        slices[axis] = slice(start, stop, step)
    return tuple(slices)


def _problem(name: str, known: IndexRange, array: Array) -> str:
    """Say what is wrong with the first element that is out of range, and where it is."""
    size = known.size
    place: list[int] = np.argwhere((array >= size) | (array < -size))[0].tolist()
    value = array[tuple(place)]
    for axis, start, _, step in known.cuts:
        place[axis] = start + place[axis] * step
    at = f" at {place}" if place else ""
    found = f"input {name!r} holds {value}{at}, but {known.node} takes"
    if not size:
        return f"{found} places on an axis of size 0"
    return f"{found} indices from {-size} to {size - 1}"
