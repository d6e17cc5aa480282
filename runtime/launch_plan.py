"""What a host does to run a model on a device: kernels, buffers, launches and copies in order.

The plan is data: executors of every device run it, and so do C programs that are written from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from nn_opt.runtime.manifest import dtype_named

FORMAT = 1  # raise when the meaning of a field changes
Triple: TypeAlias = tuple[int, int, int]


class PlanError(ValueError):
    """A launch plan that says something impossible; the text says what."""


@dataclass(frozen=True)
class Buffer:
    """Memory of the device; `role` is input, output, weights, arena or constant.

    Inputs and outputs have the dtype and shape of the model's; the others are bytes.
    """

    name: str
    role: str
    size: int  # in bytes
    dtype: str = "uint8"
    shape: tuple[int, ...] = ()

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype of its elements."""
        return dtype_named(self.dtype)


@dataclass(frozen=True)
class Argument:
    """A buffer as a kernel sees it."""

    name: str
    dtype: str
    size: int  # in bytes
    written: bool
    read_only: bool = False  # no launch of the kernel writes to its buffer


@dataclass(frozen=True)
class Kernel:
    """A function of the text; `symbol` is its name there, `nodes` are the model's."""

    name: str
    symbol: str
    block: Triple
    shared_bytes: int
    arguments: tuple[Argument, ...]
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Bytes of a buffer from an offset on.

    In the n-th iteration of the loops around, of which the outermost comes first, the offset is
    `steps` times their numbers further on.
    """

    buffer: str
    offset: int
    size: int
    steps: tuple[int, ...] = ()

    def at(self, numbers: Sequence[int]) -> int:
        """Return the offset in an iteration."""
        return self.offset + sum(s * n for s, n in zip(self.steps, numbers, strict=False))


@dataclass(frozen=True)
class Launch:
    """Run a kernel with these buffers."""

    kernel: str
    grid: Triple
    arguments: tuple[Place, ...]


@dataclass(frozen=True)
class Copy:
    """Copy bytes from one place to another."""

    source: Place
    target: Place


@dataclass(frozen=True)
class Repeat:
    """Run steps so often."""

    count: int
    steps: tuple[Step, ...]


Step: TypeAlias = Launch | Copy | Repeat


@dataclass(frozen=True)
class LaunchPlan:
    """All that a host must know besides the kernels' text and the weights."""

    target: str
    language: str
    kernels: tuple[Kernel, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]

    @property
    def launches(self) -> int:
        """The number of kernels that one run of the model launches."""
        return sum(isinstance(step, Launch) for step, _ in self.run())

    def run(self) -> Iterator[tuple[Launch | Copy, tuple[int, ...]]]:
        """Yield each launch and copy in order, with the numbers of the loops around it."""
        yield from _run(self.steps, ())

    def with_role(self, role: str) -> list[Buffer]:
        """Return the buffers of a role, in order."""
        return [buffer for buffer in self.buffers if buffer.role == role]

    def kernel(self, name: str) -> Kernel:
        """Return the kernel of a name."""
        return next(kernel for kernel in self.kernels if kernel.name == name)

    def to_json(self) -> str:
        """Return the plan as JSON."""
        body = {"format": FORMAT, "launches": self.launches, **asdict(self)}
        body["steps"] = [_step_data(step) for step in self.steps]
        rows = (f'"{key}": {_rows(value)}' for key, value in body.items())
        return "{" + ",\n".join(rows) + "}\n"

    @staticmethod
    def from_json(text: str) -> LaunchPlan:
        """Return the plan that `to_json` wrote, trusting nothing.

        Raises: PlanError for another format, and for anything else.
        """
        from nn_opt.runtime.launch_plan_check import problems

        try:
            body: dict[str, Any] = json.loads(text)
            if body["format"] != FORMAT:
                raise PlanError(f"it has format {body['format']}, expected {FORMAT}")
            plan = LaunchPlan(
                body["target"],
                body["language"],
                tuple(map(_kernel, body["kernels"])),
                tuple(map(_buffer, body["buffers"])),
                tuple(map(_step, body["steps"])),
            )
            wrong = next(problems(plan), "")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise PlanError(f"not a launch plan: {error}") from error
        if wrong:
            raise PlanError(f"not a launch plan: {wrong}")
        return plan


def _rows(value: Any) -> str:
    """Return JSON with a line for each entry of a list."""
    if not isinstance(value, list | tuple) or not value:
        return json.dumps(value)
    entries = cast("Sequence[Any]", value)
    return "[\n " + ",\n ".join(map(json.dumps, entries)) + "]"


def _run(
    steps: Sequence[Step], numbers: tuple[int, ...]
) -> Iterator[tuple[Launch | Copy, tuple[int, ...]]]:
    for step in steps:
        if isinstance(step, Repeat):
            for number in range(step.count):
                yield from _run(step.steps, (*numbers, number))
        else:
            yield step, numbers


def _step_data(step: Step) -> dict[str, Any]:
    match step:
        case Launch():
            return {"launch": asdict(step)}
        case Copy():
            return {"copy": asdict(step)}
        case Repeat(count=count, steps=steps):
            return {"repeat": {"count": count, "steps": [_step_data(inner) for inner in steps]}}


def _step(data: Mapping[str, Any]) -> Step:
    ((kind, row),) = data.items()
    match kind:
        case "launch":
            arguments = tuple(map(_place, row["arguments"]))
            return Launch(row["kernel"], _triple(row["grid"]), arguments)
        case "copy":
            return Copy(_place(row["source"]), _place(row["target"]))
        case "repeat":
            return Repeat(row["count"], tuple(map(_step, row["steps"])))
        case _:
            raise PlanError(f"it has a step {kind!r}, expected launch, copy, repeat")


def _place(row: Mapping[str, Any]) -> Place:
    return Place(row["buffer"], row["offset"], row["size"], tuple(row["steps"]))


def _triple(numbers: Sequence[int]) -> Triple:
    x, y, z = numbers
    return x, y, z


def _buffer(row: Mapping[str, Any]) -> Buffer:
    shape = tuple(row["shape"])
    return Buffer(row["name"], row["role"], row["size"], row["dtype"], shape)


def _kernel(row: Mapping[str, Any]) -> Kernel:
    return Kernel(
        row["name"],
        row["symbol"],
        _triple(row["block"]),
        row["shared_bytes"],
        tuple(Argument(**argument) for argument in row["arguments"]),
        tuple(row["nodes"]),
    )
