"""If and Loop on the host: their graphs run as models of their own, compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, TensorProto, numpy_helper

from nn_opt.frontends.onnx.loops import ENDLESS, NO_END
from nn_opt.frontends.onnx.node import Attributes, axis_in
from nn_opt.staged.host.table import Array, Call, HostFault, host


@host("If", always=False)
def if_(call: Call) -> tuple[Any, ...]:
    return tuple(call.bodies["then_branch" if _is_true(call.array(0)) else "else_branch"]())


def _is_true(condition: Array) -> bool:
    if condition.size != 1:
        raise HostFault(f"the condition has {condition.size} elements, expected one")
    return bool(condition.reshape(-1)[0])


@host("Loop", always=False)
def loop(call: Call) -> tuple[Any, ...]:
    """Run the body until the count is reached or the condition fails; stack what each step adds."""
    steps = ENDLESS if call.get(0) is None else call.integer(0)
    condition = np.asarray(True) if call.get(1) is None else call.array(1)
    if steps >= ENDLESS and _is_true(condition) and _stays_true(call.attrs.graph("body")):
        raise HostFault(NO_END)
    states = list(call.inputs[2:])
    rows: list[list[Any]] = [[] for _ in range(call.outputs - len(states))]
    step = 0
    while step < steps and _is_true(condition):
        count = np.asarray(step, np.int64)
        condition, *results = call.bodies["body"](count, condition, *states)
        states = results[: len(states)]
        for collected, value in zip(rows, results[len(states) :], strict=False):
            collected.append(value)
        step += 1
    first = 1 + len(states)  # of the body's outputs that are stacked
    return (*states, *(_stacked(call, first + k, row) for k, row in enumerate(rows)))


def _stays_true(body: GraphProto) -> bool:
    """Return whether a loop's condition is its own input, or a constant that holds."""
    made = {name: node for node in body.node for name in node.output}
    name = body.output[0].name
    while name in made and made[name].op_type == "Identity":
        name = made[name].input[0]
    if name == body.input[1].name:
        return True
    value = {tensor.name: tensor for tensor in body.initializer}.get(name)
    if name in made and made[name].op_type == "Constant":
        value = Attributes(made[name]).tensor("value")
    return value is not None and value.data_type == TensorProto.BOOL and _all(value)


def _all(tensor: TensorProto) -> bool:
    return bool(numpy_helper.to_array(tensor).all())


@host("Scan", always=False)
def scan(call: Call) -> tuple[Any, ...]:
    """Run the body for each slice; states go on, outputs are stacked."""
    count = call.attrs.int("num_scan_inputs")
    if call.version < 9:
        return _of_batch(call, count)
    states = len(call.inputs) - count
    back = call.attrs.ints("scan_input_directions") or [0] * count
    axes = call.attrs.ints("scan_input_axes") or [0] * count
    sequences = [
        _turned(np.moveaxis(call.array(states + k), axes[k], 0), back[k]) for k in range(count)
    ]
    last, stacks = over_slices(call, list(call.inputs[:states]), sequences)
    back = call.attrs.ints("scan_output_directions") or [0] * len(stacks)
    axes = call.attrs.ints("scan_output_axes") or [0] * len(stacks)
    made = [
        np.moveaxis(_turned(stack, back[k]), 0, axis_in(axes[k], stack.ndim))
        for k, stack in enumerate(stacks)
    ]
    return (*last, *made)


def _turned(array: Array, backwards: int) -> Array:
    return array[::-1] if backwards else array


def over_slices(
    call: Call, states: list[Any], sequences: Sequence[Array]
) -> tuple[list[Any], list[Array]]:
    """Return the last states, and what each step adds."""
    lengths = {len(array) for array in sequences}
    if len(lengths) != 1:
        raise HostFault(f"sequences of {sorted(lengths)} steps, expected as many of each")
    count, outputs = len(states), len(call.attrs.graph("body").output)
    rows: list[list[Any]] = [[] for _ in range(outputs - count)]
    for step in range(*lengths):
        slices = [np.array(array[step], order="C") for array in sequences]
        results = call.bodies["body"](*states, *slices)
        states = results[:count]
        for collected, value in zip(rows, results[count:], strict=True):
            collected.append(value)
    return states, [_stacked(call, count + k, row) for k, row in enumerate(rows)]


def _of_batch(call: Call, count: int) -> tuple[Any, ...]:
    """Opset 8: each entry of the batch by itself, up to its length; zeros are behind that."""
    values = [call.array(index) for index in range(1, len(call.inputs))]
    states, time = len(values) - count, values[-1].shape[1]
    lengths = [time] * len(values[0]) if call.get(0) is None else call.array(0).tolist()
    back = call.attrs.ints("directions") or [0] * count
    made: list[list[Any]] = []
    for entry, length in enumerate(lengths):
        sequences = [
            _turned(value[entry, :length], back[k]) for k, value in enumerate(values[states:])
        ]
        first = [np.array(value[entry], order="C") for value in values[:states]]
        last, stacks = over_slices(call, first, sequences)
        made.append([*last, *(_padded(stack, time) for stack in stacks)])
    return tuple(np.stack(column) for column in zip(*made, strict=True))


def _padded(stack: Array, length: int) -> Array:
    return np.pad(stack, [(0, length - len(stack)), *[(0, 0)] * (stack.ndim - 1)])


def _stacked(call: Call, output: int, rows: list[Any]) -> Array:
    if not rows:
        return call.bodies["body"].nothing(output)
    if any(row.shape != rows[0].shape for row in rows):
        raise HostFault(f"the steps' tensors of output {output} of the body differ in shape")
    return np.stack(rows)
