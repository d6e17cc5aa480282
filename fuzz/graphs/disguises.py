"""Other files of the same model: odd names, weights kept otherwise, functions, branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from fuzz.graphs.numbers import FLOATS

ODD = (
    "a/b",
    "a.b",
    "a_b",
    "größe 1",
    "float",
    "%0",
    'q"uote',
    "return",
    "日本",
    "a\\b",
    "-1",
    "x y",
)
ODD_NAMES = (*ODD, "main", "0", "'", "$", "nan", "{}", "@f", "__", "int32_t", "\t", "a:0", "è" * 60)
LISTED = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}
LISTED |= dict.fromkeys(("int32", "int16", "int8", "uint8", "uint16", "bool"), "int32_data")
DOMAIN = "of the model"

Disguise = Callable[[ModelProto, np.random.Generator], None]


def disguised(model: ModelProto, seed: int) -> tuple[ModelProto, dict[str, str]]:
    """Return a model that computes the same, and what inputs and outputs are called there."""
    copy, rng = ModelProto.FromString(model.SerializeToString()), np.random.default_rng(seed)
    for change in (as_listed, as_constants, as_defaults, with_copies, as_functions, in_branches):
        if rng.random() < 0.5:
            change(copy, rng)
    names = renamed(copy, rng) if rng.random() < 0.7 else {}
    if rng.random() < 0.3:
        for node in copy.graph.node:
            node.name = ""
    return copy, names


def as_listed(model: ModelProto, rng: np.random.Generator) -> None:
    """Write numbers of weights as lists instead of bytes."""
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        name = LISTED.get(array.dtype.name)
        if name and rng.random() < 0.7:
            tensor.ClearField("raw_data")
            numbers = array.astype(np.uint8) if array.dtype == np.bool_ else array
            getattr(tensor, name).extend(numbers.reshape(-1).tolist())
        elif array.dtype.name in FLOATS[2:]:
            tensor.ClearField("raw_data")
            tensor.int32_data.extend(array.reshape(-1).view(np.uint16).tolist())


def as_constants(model: ModelProto, rng: np.random.Generator) -> None:
    """Make nodes of some weights."""
    graph, kept = model.graph, list[TensorProto]()
    for tensor in graph.initializer:
        if rng.random() < 0.5:
            node = helper.make_node(
                "Constant", [], [tensor.name], f"of {tensor.name}", value=tensor
            )
            graph.node.insert(0, node)
        else:
            kept.append(TensorProto.FromString(tensor.SerializeToString()))
    del graph.initializer[:]
    graph.initializer.extend(kept)


def as_defaults(model: ModelProto, rng: np.random.Generator) -> None:
    """List weights among the inputs, as versions of the format before 4 must."""
    for tensor in model.graph.initializer:
        info = helper.make_tensor_value_info(tensor.name, tensor.data_type, [*tensor.dims])
        model.graph.input.append(info)


def with_copies(model: ModelProto, rng: np.random.Generator) -> None:
    """Read values through copies; add nodes that nothing reads, and weights."""
    graph = model.graph
    nodes = list[NodeProto]()
    for node in graph.node:
        for place, name in enumerate(node.input):
            if name and rng.random() < 0.3:
                copy = f"copy {len(nodes)} {place}"
                nodes.append(helper.make_node("Identity", [name], [copy], f"to {copy}"))
                node.input[place] = copy
        nodes.append(NodeProto.FromString(node.SerializeToString()))
        made = [name for name in node.output if name]
        if made and rng.random() < 0.3:
            nodes.append(helper.make_node("Shape", made[:1], [f"dead {len(nodes)}"], "dead"))
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.append(helper.make_tensor("unread", TensorProto.FLOAT, [2], [1.0, 2.0]))


def as_functions(model: ModelProto, rng: np.random.Generator) -> None:
    """Make calls of some nodes that hold no graphs."""
    for count, node in enumerate(model.graph.node):
        plain = not any(a.HasField("g") for a in node.attribute) and all(node.input)
        if not plain or not all(node.output) or rng.random() < 0.5:
            continue
        inner = NodeProto.FromString(node.SerializeToString())
        reads = list(dict.fromkeys(node.input))
        name = f"F{count}"
        function = helper.make_function(
            DOMAIN, name, reads, [*node.output], [inner], [*model.opset_import]
        )
        model.functions.append(function)
        outputs = [*node.output]
        label = node.name
        node.CopyFrom(helper.make_node(name, reads, outputs, label, domain=DOMAIN))
    if model.functions:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))


def in_branches(model: ModelProto, rng: np.random.Generator) -> None:
    """Put all nodes into both branches of a condition."""
    graph = model.graph
    own = {name for node in graph.node for name in node.output}
    if not all(info.name in own for info in graph.output):
        return
    branches = dict[str, GraphProto]()
    for branch in ("then", "else"):
        names = {name: f"{branch} {name}" for name in own if name}
        inner = helper.make_graph(graph.node, branch, [], graph.output)
        _rename(inner, names)
        branches[f"{branch}_branch"] = inner
    outputs = [info.name for info in graph.output]
    condition = helper.make_tensor("which", TensorProto.BOOL, [], [bool(rng.integers(2))])
    graph.initializer.append(condition)
    del graph.node[:]
    graph.node.append(helper.make_node("If", ["which"], outputs, "branches", **branches))


def renamed(model: ModelProto, rng: np.random.Generator) -> dict[str, str]:
    """Give all values odd names; return them by the former ones."""
    known = list(dict.fromkeys(_names(model.graph)))
    odd = [ODD_NAMES[k] for k in rng.permutation(len(ODD_NAMES))]
    names = {name: odd[k] if k < len(odd) else f"{odd[-1]}/{k}" for k, name in enumerate(known)}
    _rename(model.graph, names)
    return names


def _names(graph: GraphProto) -> Iterable[str]:
    yield from (info.name for info in (*graph.input, *graph.output))
    yield from (tensor.name for tensor in graph.initializer)
    for node in graph.node:
        yield from (name for name in (*node.input, *node.output) if name)


def _rename(graph: GraphProto, names: dict[str, str]) -> None:
    for info in (*graph.input, *graph.output, *graph.initializer):
        info.name = names.get(info.name, info.name)
    for node in graph.node:
        for side in (node.input, node.output):
            for place, name in enumerate(side):
                side[place] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, names)
