"""Says, before any work, which nodes of a model have no converter, and why."""

from __future__ import annotations

from collections.abc import Container, Iterator

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, defs

from nn_opt.frontends.onnx.bounded import is_bounded
from nn_opt.frontends.onnx.branches import is_if
from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.reader import MAIN_DOMAINS, ML_DOMAIN, Model
from nn_opt.frontends.onnx.signature import HOST_HINT
from nn_opt.frontends.onnx.structure import live_nodes, node_label
from nn_opt.frontends.onnx.table import Request, all_converters, converter_of
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, type_name

HOST_REASON = "runs as a step of the host, not as compiled code"
# Operators that are no more than moves of sequences, optionals, strings, maps and files.
ON_HOST = frozenset(
    "CastMap CategoryMapper ConcatFromSequence DictVectorizer ImageDecoder Optional"
    " OptionalGetElement OptionalHasElement RegexFullMatch SequenceAt SequenceConstruct"
    " SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence"
    " StringConcat StringNormalizer StringSplit ZipMap".split()
)
SHOWN = 20  # nodes listed in full; a larger model repeats the same few operators


def operator_key(node: NodeProto) -> tuple[str, str]:
    """Return the table's key of a node."""
    return ("" if node.domain in MAIN_DOMAINS else node.domain), node.op_type


def require_supported(model: Model, host: Container[str] = ()) -> None:
    """Raise one diagnostic that lists every unsupported node that some output needs.

    `host` are operators that run on the host where the importer has no converter.
    """
    functions = {(function.domain, function.name): function for function in model.proto.functions}
    graph = model.proto.graph
    problems: list[str] = []
    live = ((graph.node[index], index) for index in live_nodes(graph))
    pending = [(node, node_label(node, index)) for node, index in live]
    visited: set[tuple[str, str]] = set()
    for node, label in pending:
        called = (node.domain, node.op_type)
        if node.op_type in host and operator_key(node)[0] in ("", ML_DOMAIN):
            continue
        if called not in functions:
            problems += (_line(model, node, label, why) for why in reasons(model, node))
        elif called not in visited:
            visited.add(called)
            body = functions[called].node
            inner = ((n, f"{label}/{node_label(n, i)}") for i, n in enumerate(body))
            pending.extend(inner)  # the loop goes on through what is appended
    problems += [] if host else _weight_problems(graph)
    if problems:
        hosted = any(line.endswith((HOST_REASON, "of string")) for line in problems)
        hint = HOST_HINT if hosted else f"{len(all_converters())} operators are supported"
        raise model.error(_listing(problems), hint=hint)


def reasons(model: Model, node: NodeProto) -> Iterator[str]:
    """Yield why a node has no converter; nothing if it has one."""
    if is_bounded(node):
        return
    if is_if(node):
        return  # its branches are looked at once it is known which of them is taken
    key = operator_key(node)
    converter = converter_of(key)
    if converter is None:
        on_host = key[0] in ("", ML_DOMAIN) and key[1] in ON_HOST
        missing = HOST_REASON if on_host else "operator is not supported"
        yield "no such operator in ONNX" if _is_unknown(key) else missing
        return
    version = model.opsets.get(key[0], 0)
    request = Request(Attributes(node), version, tuple(node.input), tuple(node.output))
    reason = converter.refuses(request)
    if reason:
        yield reason
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR and _is_foreign(attribute.t):
            yield f"elements of {type_name(attribute.t.data_type)}"


def _is_unknown(key: tuple[str, str]) -> bool:
    return key[0] == "" and not defs.has(key[1])


def _is_foreign(tensor: TensorProto) -> bool:
    return tensor.data_type not in ELEMENT_DTYPES


def _weight_problems(graph: GraphProto) -> Iterator[str]:
    live = {name for index in live_nodes(graph) for name in graph.node[index].input}
    for tensor in graph.initializer:
        if tensor.name in live and _is_foreign(tensor):
            yield f"initializer '{tensor.name}': elements of {type_name(tensor.data_type)}"


def _line(model: Model, node: NodeProto, label: str, why: str) -> str:
    domain = operator_key(node)[0]
    version = model.opsets.get(domain, "?")
    return f"node '{label}': {domain or 'ai.onnx'}.{node.op_type} (opset {version}): {why}"


def _listing(problems: list[str]) -> str:
    more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    lines = "".join(f"\n  {line}" for line in problems[:SHOWN] + more)
    return f"{len(problems)} unsupported node(s):{lines}"
