"""Rewrites operators whose results have sizes that depend on data, or are strings beside numbers.

Each becomes an operator of the domain `nn_opt`, whose results are as large as they can be, with
their true size as one more result; a `Cut` to that size follows for each, which asks for the size
as for any value that must be known at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper

from nn_opt.frontends.onnx.reader import MAIN_DOMAINS, ML_DOMAIN, Model
from nn_opt.frontends.onnx.structure import node_label

DOMAIN, MICROSOFT = "nn_opt", "com.microsoft"


def is_bounded(node: NodeProto) -> bool:
    """Return whether a node is replaced by others."""
    if node.domain == ML_DOMAIN:
        return node.op_type in CLASSIFIERS and _has(node, "classlabels_strings")
    if node.domain == MICROSOFT:
        return node.op_type in OF_MICROSOFT
    rewrite = REWRITES.get(node.op_type) if node.domain in MAIN_DOMAINS else None
    return rewrite is not None and (rewrite is not _roi_align or not _int(node, "sampling_ratio"))


def bounded(model: Model) -> Model:
    """Return the model with operators that say how large their results are, else itself.

    Nodes keep their names; one without gets that which messages call it by.
    """
    if not any(map(is_bounded, _all_nodes(model.proto.graph))):
        return model
    proto = ModelProto()
    proto.ir_version = model.proto.ir_version
    proto.opset_import.extend(model.proto.opset_import)
    if DOMAIN not in model.opsets:
        proto.opset_import.append(helper.make_opsetid(DOMAIN, model.opsets.get("", 1)))
    proto.functions.extend(model.proto.functions)
    origins = _fill(proto.graph, model.proto.graph)
    if model.origins:
        origins = [model.origins[origin] for origin in origins]
    return replace(model, proto=proto, origins=tuple(origins))


def _all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _all_nodes(attribute.g)


def _fill(target: GraphProto, source: GraphProto) -> list[int]:
    """Fill an empty graph; return from which node of the source each of its nodes comes."""
    target.name = source.name
    for field in ("input", "output", "initializer", "sparse_initializer", "value_info"):
        getattr(target, field).extend(getattr(source, field))
    origins: list[int] = []
    for index, node in enumerate(source.node):
        for new in _rewritten(node, index):
            target.node.append(new)
            origins.append(index)
    return origins


def _rewritten(node: NodeProto, index: int) -> Iterable[NodeProto]:
    label = node_label(node, index)
    if is_bounded(node):
        rewrites = OF_MICROSOFT if node.domain == MICROSOFT else CLASSIFIERS | REWRITES
        return rewrites[node.op_type](node, label)
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.name = label
    for attribute in copy.attribute:
        if attribute.type == AttributeProto.GRAPH and any(map(is_bounded, _all_nodes(attribute.g))):
            whole = GraphProto()
            whole.CopyFrom(attribute.g)
            attribute.g.Clear()
            _fill(attribute.g, whole)
    return [copy]


def _has(node: NodeProto, name: str) -> bool:
    return any(attribute.name == name for attribute in node.attribute)


def _int(node: NodeProto, name: str, default: int = 0) -> int:
    return next((a.i for a in node.attribute if a.name == name), default)


def _inner(node: NodeProto, label: str, outputs: Sequence[str], *more: str) -> NodeProto:
    """Return the node as an operator of ours, with other results and more operands."""
    made = helper.make_node(node.op_type, [*node.input, *more], outputs, label, domain=DOMAIN)
    made.attribute.extend(node.attribute)
    return made


def _made(label: str, what: str) -> str:
    """Return the name of a value that the rewriting adds."""
    return f"nn_opt:{label}:{what}"


def _cut(label: str, full: str, size: str, output: str, axis: int) -> NodeProto:
    name = f"{label}/Cut"
    return helper.make_node("Cut", [full, size], [output], name, domain=DOMAIN, axis=axis)


def _one_result(node: NodeProto, label: str) -> Iterator[NodeProto]:
    """op  ->  op with a size, then a cut along the axis in which the results are listed."""
    full, size = _made(node.output[0], "all"), _made(node.output[0], "size")
    axis = {"NonZero": 1, "NonMaxSuppression": 0}.get(node.op_type, _int(node, "axis"))
    yield _inner(node, label, [full, size])
    yield _cut(label, full, size, node.output[0], axis)


def _non_max_suppression(node: NodeProto, label: str) -> Iterator[NodeProto]:
    """With a threshold of scores: how many boxes are above it, at most, is asked for first."""
    if len(node.input) < 5 or not node.input[4]:
        yield from _one_result(node, label)
        return
    most = _made(node.output[0], "candidates")
    yield helper.make_node(
        "Candidates", [node.input[1], node.input[4]], [most], f"{label}/Candidates", domain=DOMAIN
    )
    first, *rest = _one_result(node, label)
    first.input.append(most)
    yield from (first, *rest)


def _unique(node: NodeProto, label: str) -> Iterator[NodeProto]:
    """The elements, their first places and counts are cut; what each element became is not."""
    name = next(filter(None, node.output))
    size = _made(name, "size")
    outputs = [_made(output, "all") if output else "" for output in node.output]
    outputs += [""] * (4 - len(outputs))
    if outputs[2]:
        outputs[2] = node.output[2]
    yield _inner(node, label, [*outputs, size])
    axes = {0: _int(node, "axis"), 1: 0, 3: 0}
    for place, axis in axes.items():
        if outputs[place]:
            yield _cut(label, outputs[place], size, node.output[place], axis)


def _unsorted(node: NodeProto, label: str) -> Iterator[NodeProto]:
    """com.microsoft's Unique: the elements as they come, what each became, and counts."""
    elements, *more = node.output
    inverse, counts = [*more, "", ""][:2]
    outputs = [elements, "", inverse, counts]
    yield from _unique(helper.make_node("Unique", node.input, outputs, sorted=0), label)


def _remove_padding(node: NodeProto, label: str) -> Iterator[NodeProto]:
    """The rows are cut; where each was and the lengths are not."""
    rows, *more = [*node.output, "", "", ""][:4]
    full, size = _made(label, "all"), _made(label, "size")
    yield _inner(node, label, [full, *more, size])
    yield _cut(label, full, size, rows, 0)


def _roi_align(node: NodeProto, label: str) -> Iterator[NodeProto]:
    """Without a sampling ratio: how many samples a bin takes at most is asked for first."""
    most = _made(node.output[0], "samples")
    sizes = [a for a in node.attribute if a.name.startswith("output_") or a.name == "spatial_scale"]
    count = helper.make_node("Samples", [node.input[1]], [most], f"{label}/Samples", domain=DOMAIN)
    count.attribute.extend(sizes)
    yield count
    yield _inner(node, label, list(node.output), most)


def _string_labels(node: NodeProto, label: str) -> Iterator[NodeProto]:
    """A classifier with strings for labels  ->  one with their places, and a table of strings."""
    ints = "classlabels_int64s" if node.op_type.startswith("Tree") else "classlabels_ints"
    names = next(a.strings for a in node.attribute if a.name == "classlabels_strings")
    places = _made(node.output[0], "place")
    first = helper.make_node(
        node.op_type, node.input, [places, *node.output[1:]], label, domain=ML_DOMAIN
    )
    first.attribute.extend(a for a in node.attribute if not a.name.startswith("classlabels_"))
    first.attribute.append(helper.make_attribute(ints, list(range(len(names)))))
    yield first
    labels = list(names) if len(names) > 1 else [b"0", b"1"]
    if node.output[0]:
        name = f"{label}/Labels"
        table = helper.make_node("LabelEncoder", [places], [node.output[0]], name, domain=ML_DOMAIN)
        for key, values in (("keys_int64s", list(range(len(labels)))), ("values_strings", labels)):
            table.attribute.append(helper.make_attribute(key, values))
        yield table


Rewrite = Callable[[NodeProto, str], Iterator[NodeProto]]
CLASSIFIERS: dict[str, Rewrite] = dict.fromkeys(
    ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"), _string_labels
)
OF_MICROSOFT: dict[str, Rewrite] = {"RemovePadding": _remove_padding, "Unique": _unsorted}
REWRITES: dict[str, Rewrite] = {
    "Compress": _one_result,
    "NonMaxSuppression": _non_max_suppression,
    "NonZero": _one_result,
    "RoiAlign": _roi_align,
    "Unique": _unique,
}
