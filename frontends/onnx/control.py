"""Converter of Scan: its body becomes the body of a `graph.scan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    axis_in,
    constant,
    dtype_of,
    rank_of,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.scan import masked, scan, scan_graph, step_of
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of


@dataclass(frozen=True)
class Form:
    """How a Scan takes its operands apart and puts its outputs together."""

    node: Node
    body: GraphProto
    states: int
    scanned: int

    @property
    def stacked(self) -> int:
        """The number of outputs that grow by a slice each step."""
        return len(self.body.output) - self.states

    def numbers(self, name: str, count: int) -> list[int]:
        """Return an attribute of one number for each scanned operand or output."""
        found = self.node.attrs.ints(name)
        if found is None:
            return [0] * count
        if len(found) != count:
            raise BadNode(f"{name} has {len(found)} numbers, expected {count}")
        return found

    def directions(self, name: str, count: int) -> list[bool]:
        """Return which of the scanned operands or outputs run backwards."""
        numbers = self.numbers(name, count)
        if not set(numbers) <= {0, 1}:
            raise BadNode(f"{name} is {numbers}, expected 0 or 1 for each")
        return [bool(number) for number in numbers]


@converts("Scan")
def scan_node(node: Node) -> Results:
    """Shapes: states [..], scanned [.., T, ..]; opset 8: a batch axis before all of them."""
    body, scanned = node.attrs.graph("body"), node.attrs.int("num_scan_inputs")
    first = 1 if node.version < 9 else 0  # behind the lengths of sequences
    values = [node[index] for index in range(first, len(node.operands))]
    states = len(values) - scanned
    if scanned < 1 or states < 0:
        raise BadNode(f"num_scan_inputs is {scanned}, of {len(values)} operands")
    form = Form(node, body, states, scanned)
    if form.stacked < 0:
        raise BadNode(f"body has {len(body.output)} outputs, expected at least {states} states")
    if len(node.outputs) > len(body.output):
        raise BadNode(f"has {len(node.outputs)} outputs, its body {len(body.output)}")
    return _batched(form, values) if node.version < 9 else _scan(form, values)


def _scan(form: Form, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Opset 9 and later: any axis of each operand and output is time."""
    axes = form.numbers("scan_input_axes", form.scanned)
    back = form.directions("scan_input_directions", form.scanned)
    out_axes = form.numbers("scan_output_axes", form.stacked)
    out_back = form.directions("scan_output_directions", form.stacked)
    fronted = [_to_front(v, a) for v, a in zip(values[form.states :], axes, strict=True)]
    _check_lengths(fronted, 0)
    reverse = all(back)
    scanned = [flipped(v) if b != reverse else v for v, b in zip(fronted, back, strict=True)]
    inits = values[: form.states]
    results = scan_graph(form.node, form.body, inits, scanned, reverse=reverse)
    outputs = list(results[: form.states])
    for value, axis, backwards in zip(results[form.states :], out_axes, out_back, strict=True):
        value = flipped(value) if backwards != reverse else value
        outputs.append(_from_front(value, axis))
    return outputs


def _batched(form: Form, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Opset 8: a scan over the batch, each step of which scans one entry's time."""
    back = form.directions("directions", form.scanned)
    _check_lengths(values, 0)
    _check_lengths(values[form.states :], 1)
    lengths = form.node.get(0)

    def entry(states: Sequence[SSAValue], slices: Sequence[SSAValue]):
        length = None if lengths is None else slices[-1]
        return states, _entry(form, slices[: len(values)], back, length)

    return scan([], [*values, *([] if lengths is None else [lengths])], entry, reverse=False)


def _entry(
    form: Form, values: Sequence[SSAValue], back: Sequence[bool], length: SSAValue | None
) -> Sequence[SSAValue]:
    """Scan one entry of a batch, up to its length; from there on outputs are zero."""
    inits, sequences = values[: form.states], values[form.states :]
    step = step_of(form.node, form.body)
    if length is None:
        scanned = [flipped(v) if b else v for v, b in zip(sequences, back, strict=True)]
        return scan(inits, scanned, step, reverse=False)
    steps = constant(np.arange(shape_of(sequences[0])[0], dtype=dtype_of(length)))
    inside = graph.LessOp(steps, length).result
    scanned = [_turned(v, steps, length) if b else v for v, b in zip(sequences, back, strict=True)]
    return scan(inits, [*scanned, inside], masked(step), reverse=False)


def _turned(value: SSAValue, steps: SSAValue, length: SSAValue) -> SSAValue:
    """Return a sequence whose first slices, as many as its length, are backwards."""
    last = graph.SubOp(length, scalar_like(1, length)).result
    places = graph.SubOp(last, steps).result
    return graph.GatherOp(value, graph.MaximumOp(places, scalar_like(0, places)).result, 0).result


def _check_lengths(values: Sequence[SSAValue], axis: int) -> None:
    """Raise BadNode unless all values have one size along an axis."""
    shapes = [list(shape_of(value)) for value in values]
    if any(len(shape) <= axis for shape in shapes) or len({s[axis] for s in shapes}) > 1:
        raise BadNode(f"operands of shapes {shapes} have no common size along axis {axis}")


def _to_front(value: SSAValue, axis: int) -> SSAValue:
    """Return a value with an axis moved to the front."""
    axis, rank = axis_in(axis, rank_of(value)), rank_of(value)
    return transposed(value, [axis, *(a for a in range(rank) if a != axis)])


def _from_front(value: SSAValue, axis: int) -> SSAValue:
    """Return a value with its first axis moved to another place."""
    axis, rank = axis_in(axis, rank_of(value)), rank_of(value)
    return transposed(value, [*range(1, axis + 1), 0, *range(axis + 1, rank)])


def flipped(value: SSAValue) -> SSAValue:
    """Return a value backwards along its first axis."""
    shape = shape_of(value)
    if shape[0] < 2:
        return value
    starts = [shape[0] - 1, *([0] * (len(shape) - 1))]
    return graph.SliceOp(value, starts, shape, [-1, *([1] * (len(shape) - 1))]).result
