"""Converters of RNN, GRU and LSTM: one scan a direction, the input's matmul hoisted before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.activations import Activation, activations_of, refuse_unknown
from nn_opt.frontends.onnx.node import (
    Attributes,
    BadNode,
    Node,
    Results,
    constant,
    dtype_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.scan import scan
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of


def _add(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.AddOp(a, b).result


def _mul(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.MulOp(a, b).result


@dataclass(frozen=True)
class Direction:
    """The weights of one direction, the gates' axis last so that rows are batch entries."""

    hidden: int
    recurrence: SSAValue  # [H, G*H]
    recurrence_bias: SSAValue | None  # [G*H], kept apart from the input's
    peepholes: SSAValue | None  # [3*H], gates i, o, f
    activations: Sequence[Activation]
    attrs: Attributes

    def recur(self, h: SSAValue) -> SSAValue:
        """Return the product of a state with all gates' weights."""
        return graph.MatmulOp(h, self.recurrence).result

    def gate(self, gates: SSAValue, index: int) -> SSAValue:
        """Return one gate's columns of [.., G*H]."""
        shape = list(shape_of(gates))
        starts = [0] * len(shape)
        starts[-1], shape[-1] = index * self.hidden, self.hidden
        return graph.SliceOp(gates, starts, shape, [1] * len(shape)).result

    def clipped(self, x: SSAValue) -> SSAValue:
        """Return the input of an activation, clipped if the node says so."""
        if "clip" not in self.attrs:
            return x
        limit = self.attrs.float("clip")
        return graph.ClipOp(x, scalar_like(-limit, x), scalar_like(limit, x)).result

    def activate(self, index: int, x: SSAValue) -> SSAValue:
        return self.activations[index](self.clipped(x))

    def peep(self, x: SSAValue, cell: SSAValue, index: int) -> SSAValue:
        """Return x plus the cell seen through a peephole."""
        if self.peepholes is None:
            return x
        return _add(x, _mul(self.gate(self.peepholes, index), cell))


Step = Callable[[Direction, SSAValue, Sequence[SSAValue]], list[SSAValue]]


def _rnn_step(cell: Direction, x: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """h' = f(x + h @ R)"""
    return [cell.activate(0, _add(x, cell.recur(states[0])))]


def _gru_step(cell: Direction, x: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """h' = (1 - z) * n + z * h; the reset gate acts before or after the recurrent product."""
    (h,) = states
    if cell.attrs.flag("linear_before_reset"):
        product = cell.recur(h)
        if cell.recurrence_bias is not None:
            product = _add(product, cell.recurrence_bias)
        update, reset = (
            cell.activate(0, _add(cell.gate(x, i), cell.gate(product, i))) for i in range(2)
        )
        hidden = _add(cell.gate(x, 2), _mul(reset, cell.gate(product, 2)))
    else:
        sums = [_add(cell.gate(x, index), _times(cell, h, index)) for index in range(2)]
        update, reset = (cell.activate(0, value) for value in sums)
        hidden = _add(cell.gate(x, 2), _times(cell, _mul(reset, h), 2))
    candidate = cell.activate(1, hidden)
    rest = graph.SubOp(scalar_like(1, update), update).result
    return [_add(_mul(rest, candidate), _mul(update, h))]


def _times(cell: Direction, h: SSAValue, gate: int) -> SSAValue:
    return graph.MatmulOp(h, cell.gate(cell.recurrence, gate)).result


def _lstm_step(cell: Direction, x: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """c' = f * c + i * g, h' = o * activation(c'); gates stand in the order i, o, f, c."""
    h, c = states
    gates = _add(x, cell.recur(h))
    enter = cell.activate(0, cell.peep(cell.gate(gates, 0), c, 0))
    if cell.attrs.flag("input_forget"):
        keep = graph.SubOp(scalar_like(1, enter), enter).result
    else:
        keep = cell.activate(0, cell.peep(cell.gate(gates, 2), c, 2))
    candidate = cell.activate(1, cell.gate(gates, 3))
    new = _add(_mul(keep, c), _mul(enter, candidate))
    leave = cell.activate(0, cell.peep(cell.gate(gates, 1), new, 1))
    return [_mul(leave, cell.activations[2](new)), new]


@dataclass(frozen=True)
class Kind:
    """What tells the three operators apart."""

    gates: int
    states: int
    activations: tuple[str, ...]
    step: Step


KINDS = {
    "RNN": Kind(1, 1, ("Tanh",), _rnn_step),
    "GRU": Kind(3, 1, ("Sigmoid", "Tanh"), _gru_step),
    "LSTM": Kind(4, 2, ("Sigmoid", "Tanh", "Tanh"), _lstm_step),
}

# (node, kind, X, which direction, activations) -> the cell, input products [T, N, G*H]
MakeDirection = Callable[
    [Node, Kind, SSAValue, int, Sequence[Activation]], tuple[Direction, SSAValue]
]

# direction attribute -> which scans run backwards
BACKWARD = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


@converts(*KINDS, refusal=refuse_unknown)
def recurrent(node: Node) -> Results:
    """Shapes: X [T, N, I] (layout 1: batch first), W [D, G*H, I], R [D, G*H, H], B [D, 2*G*H]."""
    return all_directions(node, KINDS[node.proto.op_type], _direction)


def all_directions(node: Node, kind: Kind, make: MakeDirection) -> Results:
    """Return the results of the scans of one or two directions."""
    backward = node.attrs.choice("direction", "forward", BACKWARD)
    batch_first = node.attrs.flag("layout")
    x = transposed(node[0], [1, 0, 2]) if batch_first else node[0]
    functions = activations_of(node.attrs, kind.activations, len(backward))
    each = len(kind.activations)
    runs = [
        _run(
            node,
            kind,
            x,
            make(node, kind, x, index, functions[index * each : (index + 1) * each]),
            index,
            reverse,
        )
        for index, reverse in enumerate(backward)
    ]
    outputs = [_stacked([run[0] for run in runs], 1)]
    outputs += [_stacked([run[1][i] for run in runs], 0) for i in range(kind.states)]
    if batch_first:
        perms = [[2, 0, 1, 3], *([[1, 0, 2]] * kind.states)]
        outputs = [transposed(value, perm) for value, perm in zip(outputs, perms, strict=True)]
    return outputs


def _stacked(parts: Sequence[SSAValue], axis: int) -> SSAValue:
    """Return the directions' results along a new axis."""
    shape = list(shape_of(parts[0]))
    shape.insert(axis, 1)
    parts = [reshaped(part, shape) for part in parts]
    return parts[0] if len(parts) == 1 else graph.ConcatOp(parts, axis).result


def pick(value: SSAValue, index: int) -> SSAValue:
    """Return value[index] along the first axis."""
    shape = shape_of(value)
    if shape[0] != 1:
        starts, sizes = [index, *([0] * (len(shape) - 1))], [1, *shape[1:]]
        value = graph.SliceOp(value, starts, sizes, [1] * len(shape)).result
    return reshaped(value, shape[1:])


def _run(
    node: Node,
    kind: Kind,
    x: SSAValue,
    direction: tuple[Direction, SSAValue],
    index: int,
    reverse: bool,
) -> tuple[SSAValue, list[SSAValue]]:
    """Return the outputs [T, N, H] and the final states [N, H] of one direction."""
    cell, inputs = direction
    time, batch = shape_of(x)[:2]
    first = [_initial(node, 5 + i, index, (batch, cell.hidden), x) for i in range(kind.states)]
    mask = _mask(node, time, batch)

    def step(states: Sequence[SSAValue], slices: Sequence[SSAValue]):
        new = kind.step(cell, slices[0], states)
        if len(slices) == 1:
            return new, [new[0]]
        kept = [
            graph.WhereOp(slices[1], after, before).result
            for after, before in zip(new, states, strict=True)
        ]
        shown = graph.WhereOp(slices[1], new[0], scalar_like(0, new[0])).result
        return kept, [shown]

    results = scan(first, [inputs, *([] if mask is None else [mask])], step, reverse=reverse)
    states = results[:-1] if time else [constant(np.zeros(shape_of(s), dtype_of(s))) for s in first]
    return results[-1], [_of_some(node, state) for state in states]


def _direction(
    node: Node, kind: Kind, x: SSAValue, index: int, functions: Sequence[Activation]
) -> tuple[Direction, SSAValue]:
    """Return one direction's cell, and its input products [T, N, G*H] with the biases added."""
    time, batch, features = shape_of(x)
    weights = transposed(pick(node[1], index), [1, 0])
    recurrence = transposed(pick(node[2], index), [1, 0])
    hidden, columns = shape_of(recurrence)
    if columns != kind.gates * hidden:
        raise BadNode(f"R has {columns} rows a direction, expected {kind.gates} * {hidden}")
    flat = graph.MatmulOp(reshaped(x, [time * batch, features]), weights).result
    flat, inner_bias = with_bias(node, flat, index)
    peepholes = node.get(7)
    peepholes = None if peepholes is None else pick(peepholes, index)
    cell = Direction(hidden, recurrence, inner_bias, peepholes, functions, node.attrs)
    return cell, reshaped(flat, [time, batch, columns])


def with_bias(node: Node, flat: SSAValue, index: int) -> tuple[SSAValue, SSAValue | None]:
    """Return input products with the biases added, and the one that must be kept for the steps."""
    bias = node.get(3)
    if bias is None:
        return flat, None
    parts = reshaped(pick(bias, index), [2, shape_of(flat)[-1]])
    flat = _add(flat, pick(parts, 0))
    if node.attrs.flag("linear_before_reset"):
        return flat, pick(parts, 1)
    return _add(flat, pick(parts, 1)), None


def _initial(node: Node, operand: int, index: int, shape: tuple[int, int], x: SSAValue) -> SSAValue:
    """Return the first state [N, H]: an operand [D, N, H] (layout 1: [N, D, H]), else zeros."""
    value = node.get(operand)
    if value is None:
        return constant(np.zeros(shape, dtype_of(x)))
    if node.attrs.flag("layout"):
        value = transposed(value, [1, 0, 2])
    return pick(value, index)


def _of_some(node: Node, state: SSAValue) -> SSAValue:
    """Return a last state [N, H]; it is zero for a sequence that is empty."""
    lengths = node.get(4)
    known = None if lengths is None else node.evaluate(lengths)
    if lengths is None or (known is not None and (known > 0).all()):
        return state
    some = graph.GreaterOp(lengths, scalar_like(0, lengths)).result
    column = reshaped(some, [shape_of(state)[0], 1])
    return graph.WhereOp(column, state, scalar_like(0, state)).result


def _mask(node: Node, time: int, batch: int) -> SSAValue | None:
    """Return [T, N, 1], true inside each sequence; None if all are of full length."""
    lengths = node.get(4)
    if lengths is None:
        return None
    known = node.evaluate(lengths)
    if known is not None and (known == time).all():
        return None
    steps = constant(np.arange(time, dtype=dtype_of(lengths)).reshape(time, 1, 1))
    return graph.LessOp(steps, reshaped(lengths, [1, batch, 1])).result
