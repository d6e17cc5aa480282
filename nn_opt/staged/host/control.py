"""If and Loop on the host: their graphs run as models of their own, compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np

from nn_opt.staged.host.table import Array, Call, HostFault, host

MOST_STEPS = 1 << 62  # of a loop that no count ends


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
    steps = MOST_STEPS if call.get(0) is None else call.integer(0)
    condition = np.asarray(True) if call.get(1) is None else call.array(1)
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


def _stacked(call: Call, output: int, rows: list[Any]) -> Array:
    if not rows:
        return call.bodies["body"].nothing(output)
    if any(row.shape != rows[0].shape for row in rows):
        raise HostFault(f"the steps' tensors of output {output} of the body differ in shape")
    return np.stack(rows)
