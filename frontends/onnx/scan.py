"""Builds `graph.scan` from a Python function of one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import ImplicitBuilder
from xdsl.ir import Block, Region, SSAValue

from nn_opt.dialects import graph
from nn_opt.ir.types import element_type, shape_of, tensor_type

# (states, slices) -> (next states, outputs)
Step = Callable[
    [Sequence[SSAValue], Sequence[SSAValue]], tuple[Sequence[SSAValue], Sequence[SSAValue]]
]


def scan(
    inits: Sequence[SSAValue], scanned: Sequence[SSAValue], step: Step, *, reverse: bool
) -> Sequence[SSAValue]:
    """Return the final states, then the outputs stacked along a new first axis."""
    slices = [tensor_type(shape_of(value)[1:], element_type(value)) for value in scanned]
    block = Block(arg_types=[*(value.type for value in inits), *slices])
    with ImplicitBuilder(block):
        states, outputs = step(block.args[: len(inits)], block.args[len(inits) :])
        graph.YieldOp(*states, *outputs)
    return graph.ScanOp(inits, scanned, Region(block), reverse=reverse).results
