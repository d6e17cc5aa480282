"""Runs kernels that simt_programs.py compiled: in two orders, which must give the same bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from simt_programs import Program

Array: TypeAlias = NDArray[Any]
Size: TypeAlias = tuple[int, int, int]


class Fault(AssertionError):
    """What a kernel did that no kernel may do."""


@dataclass(frozen=True)
class Part:
    """A place in a buffer, in bytes from its beginning; without a size it goes to the end."""

    buffer: str
    offset: int = 0
    size: int | None = None


@dataclass(frozen=True)
class Launch:
    """A kernel on a grid; arguments are buffers, places in them, or NumPy scalars by value."""

    kernel: str
    grid: Size
    block: Size
    arguments: Sequence[str | Part | np.generic]
    shared: int = 0


class _Launch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint64),
        ("backwards", ctypes.c_int32),
        ("watched", ctypes.c_int32),
    ]


class Memory:
    """The buffers of a run, each beside a page that nobody may touch."""

    def __init__(self, program: Program, buffers: Mapping[str, Array], *, at_end: bool) -> None:
        self._library = program.library
        self._library.simt_array.restype = ctypes.c_void_p
        self._library.simt_array.argtypes = [ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int]
        self.places: dict[str, int] = {}
        self._views: dict[str, Array] = {}
        for name, content in buffers.items():
            place = self._library.simt_array(content.nbytes, name.encode(), int(at_end))
            raw = (ctypes.c_char * content.nbytes).from_address(place)
            view = np.frombuffer(raw, content.dtype).reshape(content.shape)
            view[...] = content
            self.places[name], self._views[name] = place, view

    def address(self, part: Part) -> int:
        return self.places[part.buffer] + part.offset

    def give(self, parts: Sequence[Part]) -> None:
        """Let a watched kernel touch these places alone."""
        whole = {name: view.nbytes for name, view in self._views.items()}
        sizes = [whole[p.buffer] - p.offset if p.size is None else p.size for p in parts]
        begins = [self.address(part) for part in parts]
        count = len(parts)
        self._library.simt_give(
            ctypes.c_size_t(count),
            (ctypes.c_void_p * count)(*begins),
            (ctypes.c_size_t * count)(*sizes),
        )

    def protect(self, name: str) -> None:
        """Let a write to this buffer be a fault."""
        self._library.simt_protect(ctypes.c_void_p(self.places[name]))

    def contents(self) -> dict[str, Array]:
        return {name: view.copy() for name, view in self._views.items()}

    def close(self) -> None:
        self._library.simt_free_arrays()


def _parts(step: Launch) -> list[Part]:
    """Return the places that a kernel has as arguments."""
    given = (Part(a) if isinstance(a, str) else a for a in step.arguments)
    return [argument for argument in given if isinstance(argument, Part)]


def _holder(argument: str | Part | np.generic, memory: Memory, *, by_address: bool) -> Any:
    """Return what a kernel's caller points at for an argument."""
    if isinstance(argument, np.generic):
        value = ctypes.create_string_buffer(argument.tobytes(), argument.nbytes)
        return ctypes.pointer(value) if by_address else value
    part = Part(argument) if isinstance(argument, str) else argument
    return ctypes.c_void_p(memory.address(part))


def launch(
    program: Program, step: Launch, memory: Memory, *, backwards: bool, watched: bool
) -> None:
    """Run one kernel.

    Raises: Fault with a message that names the kernel, its block and its thread.
    """
    threads = step.block[0] * step.block[1] * step.block[2]
    most = program.kernels[step.kernel].most_threads
    if threads > most:
        raise Fault(f"{step.kernel}: {threads} threads a block, but it is compiled for {most}")
    by_address = program.by_address
    holders = [_holder(argument, memory, by_address=by_address) for argument in step.arguments]
    places = (ctypes.c_void_p * max(len(holders), 1))(*[ctypes.addressof(h) for h in holders])
    memory.give(_parts(step))
    how = _Launch(step.grid, step.block, step.shared, backwards, watched)
    run_it = program.library.simt_launch
    run_it.restype = ctypes.c_char_p
    said = run_it(program.function(step.kernel), places, ctypes.byref(how))
    if said is not None:
        raise Fault(f"{step.kernel}: {place_of(program)}{said.decode()}")


def place_of(program: Program) -> str:
    """Return the line of the text that did the last fault, where it is known."""
    find = program.library.simt_fault_site
    find.restype = ctypes.c_size_t
    address = find()
    return program.line(address) if address else ""


def run_once(
    program: Program,
    steps: Sequence[Launch],
    buffers: Mapping[str, Array],
    *,
    backwards: bool = False,
    watched: bool = True,
    constant: Sequence[str] = (),
) -> dict[str, Array]:
    """Return what buffers hold after these launches; `constant` ones must not be written.

    Threads run in one order, or backwards; `watched` looks for races.
    """
    memory = Memory(program, buffers, at_end=not backwards)
    try:
        for name in constant:
            memory.protect(name)
        for step in steps:
            launch(program, step, memory, backwards=backwards, watched=watched)
        return memory.contents()
    finally:
        memory.close()


def run(
    program: Program,
    steps: Sequence[Launch],
    buffers: Mapping[str, Array],
    *,
    watched: bool = True,
    constant: Sequence[str] = (),
) -> dict[str, Array]:
    """Return what buffers hold after these launches, the same in both orders of threads."""
    first = run_once(program, steps, buffers, watched=watched, constant=constant)
    second = run_once(program, steps, buffers, backwards=True, watched=False, constant=constant)
    for name, content in first.items():
        if content.tobytes() != second[name].tobytes():
            raise Fault(f"{name} depends on the order of threads")
    return first
