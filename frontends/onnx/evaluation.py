"""Values of the function being built that are known at compile time, found by interpreting it."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.frontends.onnx.node import BadNode
from nn_opt.frontends.onnx.reader import Model
from nn_opt.frontends.onnx.signature import HOST_HINT
from nn_opt.ir.diagnostics import DiagnosticError, locate
from nn_opt.ir.types import shape_of
from nn_opt.reference.graph import evaluate

Array = NDArray[Any]


MAX_FOLDED = 2**28  # elements of a value that is computed at compile time


class NeedsValue(DiagnosticError):
    """A node cannot be converted before a value is known that depends on the model's inputs.

    value: the value's name in the model, its calls expanded and its Ifs inlined.
    choices: the Ifs that were inlined, by their first result: whether the condition held.
    node: the first result of the model's node that needs the value; operator: of which kind it is.
    """

    node = ""
    operator = ""

    def __init__(self, model: Model, problem: str, value: str, choices: Mapping[str, bool]):
        hint = f"values={{'{value}': ...}} gives it, on a command line --value {value}=..."
        hint += "; nn_opt.compile and nn-run compute it"
        super().__init__(str(model.error(problem, hint=hint)))
        self.value = value
        self.choices = dict(choices)


class NeedsHost(DiagnosticError):
    """A node can only run as a step of the host.

    node: the node's first result, by which `value` and `choices` of NeedsValue know nodes, too.
    """

    def __init__(self, model: Model, problem: str, node: str, choices: Mapping[str, bool]):
        super().__init__(str(model.error(problem, hint=HOST_HINT)))
        self.node = node
        self.choices = dict(choices)


class Varies(DiagnosticError):
    """A node in a step of a loop needs a value that changes from step to step; `reason` says so."""

    def __init__(self, model: Model, problem: str):
        super().__init__(str(model.error(problem)))
        self.reason = problem


def _check_small(op: Operation) -> None:
    """Raise BadNode for an op whose results are more than a compiler should compute."""
    for result in op.results:
        elements = math.prod(shape_of(result))
        if elements > MAX_FOLDED:
            raise BadNode(
                f"{elements} elements would be computed at compile time, more than {MAX_FOLDED}"
            )


def _results(op: Operation, arrays: Sequence[Array]) -> list[Array]:
    try:
        return evaluate(op, arrays)
    except IndexError as error:
        raise BadNode(f"it needs a value of {locate(op)}, where {error}") from None


class Evaluator:
    """Interprets what hangs on constants alone: on demand, and every op once."""

    def __init__(self) -> None:
        self._static: dict[Operation, bool] = {}
        self._arrays: dict[SSAValue, Array] = {}

    def array_of(self, value: SSAValue) -> Array | None:
        """Return the value's elements, None if they depend on an argument of a block."""
        if not self._is_static(value):
            return None
        stack = [value]
        while stack:
            op = stack[-1].owner
            assert isinstance(op, Operation), "a block argument is never static"
            missing = [operand for operand in op.operands if operand not in self._arrays]
            if missing:
                stack += missing
            elif stack.pop() not in self._arrays:
                _check_small(op)
                results = _results(op, [self._arrays[operand] for operand in op.operands])
                self._arrays.update(zip(op.results, results, strict=True))
        return self._arrays[value]

    def origins(self, value: SSAValue, known: Container[SSAValue]) -> set[SSAValue]:
        """Return what a value is computed of: the nearest of `known`, and arguments of blocks."""
        found, seen, stack = set[SSAValue](), set[SSAValue](), [value]
        while stack:
            value = stack.pop()
            if value in seen or self._is_static(value):
                continue
            seen.add(value)
            op = value.owner
            if value in known or not isinstance(op, Operation):
                found.add(value)
            else:
                stack += [operand for inner in op.walk() for operand in inner.operands]
        return found

    def _is_static(self, value: SSAValue) -> bool:
        """Return whether an op without regions computes the value from such ops alone."""
        stack = [value.owner]
        while stack:
            op = stack.pop()
            if not isinstance(op, Operation) or op in self._static:
                continue
            owners = [operand.owner for operand in op.operands]
            unseen = [o for o in owners if isinstance(o, Operation) and o not in self._static]
            if op.regions:
                self._static[op] = False
            elif unseen:
                stack += [op, *unseen]
            else:
                self._static[op] = all(self._knows(owner) for owner in owners)
        return self._knows(value.owner)

    def _knows(self, owner: Operation | Block) -> bool:
        return isinstance(owner, Operation) and self._static.get(owner, False)
