"""If, Loop and Scan, with bodies that read values from outside."""

from __future__ import annotations

from onnx import TensorProto, helper

from fuzz.graphs.graph import Graph, recipe

SAFE = ("Add", "Sub", "Mul", "Max", "Min")
info = helper.make_tensor_value_info


def numbers(g: Graph) -> tuple[str, str, int]:
    """Return two values of one type and shape, and the code of the type."""
    shape = g.sizes(g.whole(0, 2), 60)
    dtype = g.pick([t for t in ("float32", "int64", "float64", "int32") if t in g.types])
    same = [n for n, v in g.values.items() if v.dtype == dtype and v.shape == shape]
    x = g.pick(same) if same else g.operand(dtype, shape, "whole")
    code = helper.np_dtype_to_tensor_dtype(g.values[x].array.dtype)
    return x, g.operand(dtype, shape, "whole"), code


@recipe("If")
def branch(g: Graph, op: str) -> None:
    x, y, code = numbers(g)
    condition = g.operand("bool", g.pick([(), (1,)]))
    shape = g.shape(x)
    branches = {}
    for name in ("then_branch", "else_branch"):
        kind = g.pick(SAFE)
        node = helper.make_node(kind, [x, y], [f"{name}_y"], f"{name}_n")
        out = [info(f"{name}_y", code, shape)]
        branches[name] = helper.make_graph([node], name, [], out)
    g.add(op, [condition], captured=[x, y], **branches)


@recipe("Loop")
def loop(g: Graph, op: str) -> None:
    """A state and what it was at each step; the condition may end it."""
    x, y, code = numbers(g)
    shape = g.shape(x)
    nodes = [
        helper.make_node(g.pick(SAFE), ["state", y], ["next"], "a"),
        helper.make_node("Identity", ["next"], ["seen"], "b"),
    ]
    trips = g.whole(0, 4)
    weights: list[object] = []
    if g.flag():
        nodes.append(helper.make_node("Less", ["i", "end"], ["go"], "c"))
        weights = [helper.make_tensor("end", TensorProto.INT64, [], [g.whole(0, 4)])]
    else:
        nodes.append(helper.make_node("Identity", ["cond"], ["go"], "c"))
    body = helper.make_graph(
        nodes,
        "body",
        [
            info("i", TensorProto.INT64, []),
            info("cond", TensorProto.BOOL, []),
            info("state", code, shape),
        ],
        [info("go", TensorProto.BOOL, []), info("next", code, shape), info("seen", code, shape)],
        weights,
    )
    condition = g.pick(["", g.known(True, "bool")])
    g.add(op, [g.known(trips), condition, x], "mixing", outputs=2, captured=[y], body=body)


@recipe("Scan")
def scan(g: Graph, op: str) -> None:
    steps, shape = g.whole(1, 4), g.sizes(g.whole(0, 2), 30)
    dtype = g.pick([t for t in ("float32", "int64", "float64") if t in g.types])
    state, x = g.operand(dtype, shape, "whole"), g.operand(dtype, (steps, *shape), "whole")
    outside = g.operand(dtype, (), "whole")
    code = helper.np_dtype_to_tensor_dtype(g.values[x].array.dtype)
    nodes = [
        helper.make_node(g.pick(SAFE), ["s", "e"], ["n"], "a"),
        helper.make_node(g.pick(SAFE), ["n", outside], ["o"], "b"),
    ]
    ins, outs = [info(n, code, shape) for n in "se"], [info(n, code, shape) for n in "no"]
    body = helper.make_graph(nodes, "body", ins, outs)
    given = {"scan_input_directions": [g.whole(0, 1)], "scan_output_directions": [g.whole(0, 1)]}
    captured = [outside]
    g.add(
        op,
        [state, x],
        "mixing",
        outputs=2,
        captured=captured,
        body=body,
        num_scan_inputs=1,
        **given,
    )
