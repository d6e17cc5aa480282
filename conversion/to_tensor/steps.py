"""Loops in the middle of a formula: the same stages again and again, on states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import ImplicitBuilder
from xdsl.ir import Attribute, Block, Region

from nn_opt.conversion.to_tensor.body import Array
from nn_opt.conversion.to_tensor.scalar import storage
from nn_opt.dialects import tensor
from nn_opt.ir.types import tensor_type

Step = Callable[[Sequence[Array], Sequence[Array]], tuple[Sequence[Array], Sequence[Array]]]
"""From states and slices of tables to the next states and what is stacked."""


def repeat(states: Sequence[Array], tables: Sequence[Array], step: Step, count: int) -> list[Array]:
    """Return the states after `count` steps, each of which sees a slice of every table along its
    first axis, and what the steps stack.
    """
    slices = [tensor_type(table.shape[1:], storage(table.dtype)) for table in tables]
    block = Block(arg_types=[*(state.value.type for state in states), *slices])
    own = len(states)
    dtypes = [array.dtype for array in (*states, *tables)]
    with ImplicitBuilder(block) as arguments:
        values = [Array(value, dtype) for value, dtype in zip(arguments, dtypes, strict=True)]
        new, outputs = step(values[:own], values[own:])
        tensor.YieldOp(*(array.value for array in (*new, *outputs)))
    types: list[Attribute] = [state.value.type for state in states]
    types += [tensor_type((count, *o.shape), storage(o.dtype)) for o in outputs]
    inputs = [array.value for array in (*states, *tables)]
    scan = tensor.ScanOp(inputs, Region(block), types, num_states=own)
    found = [array.dtype for array in (*states, *outputs)]
    return [Array(value, dtype) for value, dtype in zip(scan.outputs, found, strict=True)]
