"""RNN, GRU and LSTM in their modes."""

from __future__ import annotations

from typing import Any

from fuzz.graphs.graph import Graph, recipe, schema_types

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@recipe("RNN", "GRU", "LSTM")
def recurrent(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    steps, batch, width, hidden = g.whole(1, 4), g.whole(1, 3), g.whole(1, 5), g.whole(1, 5)
    direction = g.pick([None, "forward", "reverse", "bidirectional"])
    ways, gates = 1 + (direction == "bidirectional"), GATES[op]
    layout = g.pick([None, None, 0, 1])
    shape = (batch, steps, width) if layout else (steps, batch, width)
    x = g.operand(dtype, shape, "normal")
    w = g.operand(dtype, (ways, gates * hidden, width), "normal")
    r = g.operand(dtype, (ways, gates * hidden, hidden), "normal")
    b = g.operand(dtype, (ways, 2 * gates * hidden), "normal") if g.flag() else ""
    lengths = g.known([g.whole(1, steps) for _ in range(batch)], "int32") if g.flag() else ""
    state = (batch, ways, hidden) if layout else (ways, batch, hidden)
    states = [g.operand(dtype, state, "normal") if g.flag() else "" for _ in range(gates // 4 + 1)]
    operands = [x, w, r, b, lengths, *states]
    given: dict[str, Any] = {"hidden_size": hidden, "direction": direction, "layout": layout}
    given["clip"] = g.pick([None, None, 0.5])
    if op == "GRU":
        given["linear_before_reset"] = g.pick([None, 0, 1])
    if op == "LSTM" and g.flag():
        operands.append(g.operand(dtype, (ways, 3 * hidden), "normal"))
    if g.whole(0, 3) == 3:
        each = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        words = ["Tanh", "Sigmoid", "Relu", "Softsign"]
        given["activations"] = [g.pick(words) for _ in range(each)] * ways
    while not operands[-1]:
        operands.pop()
    outputs = [True, g.flag(), g.flag()] if op == "LSTM" else [True, g.flag()]
    g.add(op, operands, "mixing", outputs=outputs, **given)
