"""The table of operators that run on the host, filled by the decorator `host`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from nn_opt.frontends.onnx.bounded import DOMAIN
from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.reader import MAIN_DOMAINS, ML_DOMAIN
from nn_opt.frontends.onnx.signature import STRING, TENSOR

Array = NDArray[Any]


class HostFault(Exception):
    """A node was given what it cannot take; the text says what was expected."""


class Body(Protocol):
    """A graph in a node, ready to be run."""

    def __call__(self, *inputs: Any) -> list[Any]:
        """Return the graph's outputs."""
        ...

    def nothing(self, index: int) -> Array:
        """Return what no run of the graph stacks of an output."""
        ...


@dataclass(frozen=True)
class Call:
    """One node when it runs: attributes, inputs (None for one left out), graphs in the node."""

    attrs: Attributes
    version: int
    inputs: Sequence[Any]
    outputs: int
    bodies: Mapping[str, Body]

    def get(self, index: int) -> Any:
        """Return an optional input."""
        return self.inputs[index] if index < len(self.inputs) else None

    def array(self, index: int) -> Array:
        """Return an input that must be a tensor."""
        value = self.get(index)
        if not isinstance(value, np.ndarray):
            raise HostFault(f"input {index} is {_kind(value)}, expected a tensor")
        return cast(Array, value)

    def sequence(self, index: int) -> list[Any]:
        """Return an input that must be a sequence."""
        value = self.get(index)
        if not isinstance(value, list):
            raise HostFault(f"input {index} is {_kind(value)}, expected a sequence")
        return cast("list[Any]", value)

    def integer(self, index: int) -> int:
        """Return an input that must be a number."""
        array = self.array(index)
        if array.size != 1:
            raise HostFault(f"input {index} has {array.size} elements, expected one")
        return int(array.reshape(-1)[0])


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    return "a sequence" if isinstance(value, list) else "a tensor"


Kinds = Sequence[str]  # of a node's inputs
KindOf = Callable[[Attributes, Kinds], str]  # of its results


@dataclass(frozen=True)
class HostOp:
    """How an operator runs, of what kind its results are, and whether tensors take it here, too."""

    run: Callable[[Call], Any]
    kind: KindOf
    always: bool


HOST_OPS: dict[str, HostOp] = {}
HOST_DOMAINS = (*MAIN_DOMAINS, ML_DOMAIN, DOMAIN)


def same(attrs: Attributes, kinds: Kinds) -> str:
    """Results are what the first input is."""
    return kinds[0] if kinds else TENSOR


def tensor(attrs: Attributes, kinds: Kinds) -> str:
    """Results are tensors of numbers."""
    return TENSOR


def string(attrs: Attributes, kinds: Kinds) -> str:
    """Results are tensors of strings."""
    return STRING


def host(*op_types: str, kind: KindOf = same, always: bool = True):
    """Decorate a function with the operators that it runs.

    always: also for tensors of numbers; otherwise, compiled code does those.
    """

    def fill(run: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for op_type in op_types:
            assert op_type not in HOST_OPS, f"two functions for {op_type}"
            HOST_OPS[op_type] = HostOp(run, kind, always)
        return run

    return fill
