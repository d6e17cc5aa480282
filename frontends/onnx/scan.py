"""Builds `graph.scan` of one step: a Python function, or a graph in an ONNX node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import GraphProto
from xdsl.builder import ImplicitBuilder
from xdsl.ir import Attribute, Block, Region, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import BadNode, Node, scalar_like
from nn_opt.ir.types import element_type, shape_of, tensor_type

# (states, slices) -> (next states, outputs)
Step = Callable[
    [Sequence[SSAValue], Sequence[SSAValue]], tuple[Sequence[SSAValue], Sequence[SSAValue]]
]


def scan(
    inits: Sequence[SSAValue], scanned: Sequence[SSAValue], step: Step, *, reverse: bool
) -> Sequence[SSAValue]:
    """Return the final states, then the outputs stacked along a new first axis."""
    block = step_block(inits, scanned)
    with ImplicitBuilder(block):
        states, outputs = step(block.args[: len(inits)], block.args[len(inits) :])
        graph.YieldOp(*states, *outputs)
    return graph.ScanOp(inits, scanned, Region(block), reverse=reverse).results


def scan_graph(
    node: Node,
    body: GraphProto,
    inits: Sequence[SSAValue],
    scanned: Sequence[SSAValue],
    *,
    reverse: bool = False,
) -> Sequence[SSAValue]:
    """Return what `scan` does; the step is a graph of states and slices in a node."""
    step = step_of(node, body)
    return scan(inits, scanned, step, reverse=reverse)


def step_of(node: Node, body: GraphProto) -> Step:
    """Return the step that a graph in a node defines.

    Raises: BadNode if a state changes its type or there are fewer results than states.
    """

    def step(states: Sequence[SSAValue], slices: Sequence[SSAValue]):
        arguments = [*states, *slices]
        block = arguments[0].owner
        assert isinstance(block, Block), "a step's states and slices are arguments of its block"
        results = node.inline(body, arguments, block)
        check_states(states, results, [value.name for value in body.output])
        return results[: len(states)], results[len(states) :]

    return step


def masked(step: Step) -> Step:
    """Return a step that does nothing, and shows zeros, where its last slice is false."""

    def inside(states: Sequence[SSAValue], slices: Sequence[SSAValue]):
        *slices, valid = slices
        new, outputs = step(states, slices)
        kept = [
            graph.WhereOp(valid, after, before).result
            for after, before in zip(new, states, strict=True)
        ]
        shown = [graph.WhereOp(valid, y, scalar_like(0, y)).result for y in outputs]
        return kept, shown

    return inside


def step_block(inits: Sequence[SSAValue], scanned: Sequence[SSAValue]) -> Block:
    """Return an empty body of a scan."""
    slices = [tensor_type(shape_of(value)[1:], element_type(value)) for value in scanned]
    return Block(arg_types=[*(value.type for value in inits), *slices])


def check_states(
    inits: Sequence[SSAValue], results: Sequence[SSAValue], names: Sequence[str]
) -> None:
    """Raise BadNode unless a body's first results have the types of its states."""
    if len(results) < len(inits):
        raise BadNode(f"body has {len(results)} outputs, expected at least {len(inits)} states")
    for index, (before, after) in enumerate(zip(inits, results, strict=False)):
        if before.type != after.type:
            raise BadNode(
                f"state {index} ('{names[index]}') is {show(after.type)} after a step,"
                f" expected {show(before.type)}"
            )


def show(type_: Attribute) -> str:
    """Return an element type and a shape in a message's words."""
    return str(type_).removeprefix("tensor<").removesuffix(">")
