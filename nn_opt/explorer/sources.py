"""What the user wrote: lines of IR, or a model's nodes, one a line; and the lines of locations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute

from nn_opt.explorer.snapshots import parts_of
from nn_opt.ir.locations import is_unknown

if TYPE_CHECKING:
    from nn_opt.frontends.onnx.reader import Source as ModelSource

_NAMED = re.compile(r'loc\("((?:[^"\\]|\\.)*)"')
_MOST_VALUES = 8  # of an attribute that is a list


@dataclass
class Source:
    """A source in lines, from 0 on: which of them a name is on, and a location."""

    kind: str
    name: str
    lines: list[str]
    named: dict[str, int] = field(default_factory=dict[str, int])
    places: dict[Attribute, list[int]] = field(default_factory=dict[Attribute, list[int]])

    def lines_of(self, place: Attribute) -> tuple[int, ...]:
        """Return the lines, from 0 on, that a location speaks of, each once."""
        found = (line for line in self._lines_of(place) if 0 <= line < len(self.lines))
        return tuple(dict.fromkeys(found))

    def _lines_of(self, place: Attribute) -> Iterator[int]:
        if self.places and place in self.places:
            yield from self.places[place]
            return
        match place:
            case FileLineColLoc(filename=file, line=line):
                if file.data == self.name:
                    yield line.data - 1
            case NameLoc(desc=name, location=child):
                inner = list(self._lines_of(child))
                yield from inner or ([self.named[name.data]] if name.data in self.named else [])
            case CallSiteLoc(callee=callee):
                yield from self._lines_of(callee)
            case FusedLoc(locations=ArrayAttr(data=parts)):
                for part in parts:
                    yield from self._lines_of(part)
            case _:
                return


def text_source(name: str, text: str) -> Source:
    """Return the lines of IR."""
    lines = text.split("\n")
    named: dict[str, int] = {}
    for number, line in enumerate(lines):
        for match in _NAMED.finditer(line):
            named.setdefault(match[1], number)
    return Source("mlir", name, lines, named)


def module_source(module: ModuleOp) -> Source:
    """Return the text of a module; an op without a location gets its line as one."""
    source = Source("mlir", "<module>", [])
    for part in parts_of(module):
        begin = len(source.lines)
        source.lines += part.text.split("\n")
        for op, line in zip(part.ops, part.lines, strict=True):
            if is_unknown(op):
                number, column = IntAttr(begin + line + 1), IntAttr(1)
                op.location = FileLineColLoc(StringAttr(source.name), number, column)
            else:
                source.places.setdefault(op.location, []).append(begin + line)
    return source


def onnx_source(source: ModelSource) -> Source:
    """Return the nodes of a model, each on the line that its location says."""
    from nn_opt.frontends.onnx import read_model
    from nn_opt.frontends.onnx.structure import node_label

    model = read_model(source)
    nodes = list(model.proto.graph.node)
    labels = [node_label(node, index) for index, node in enumerate(nodes)]
    lines = [_node_text(label, node) for label, node in zip(labels, nodes, strict=True)]
    named = {label: index for index, label in reversed(list(enumerate(labels)))}
    return Source("onnx", model.label, lines, named)


def _node_text(label: str, node: Any) -> str:
    """Return a node as `label: outputs = Type(inputs) {attributes}`."""
    attributes = ", ".join(f"{item.name} = {_value_text(item)}" for item in node.attribute)
    suffix = f" {{{attributes}}}" if attributes else ""
    inputs, outputs = ", ".join(node.input), ", ".join(node.output)
    return f"{label}: {outputs} = {node.op_type}({inputs}){suffix}"


def _value_text(attribute: Any) -> str:
    from onnx import AttributeProto, helper

    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS):
        values = [str(value) for value in helper.get_attribute_value(attribute)]
        rest = [f"... {len(values)} in all"] if len(values) > _MOST_VALUES else []
        return f"[{', '.join([*values[:_MOST_VALUES], *rest])}]"
    if attribute.type == AttributeProto.INT:
        return str(attribute.i)
    if attribute.type == AttributeProto.FLOAT:
        return f"{attribute.f:g}"
    if attribute.type == AttributeProto.STRING:
        return repr(attribute.s.decode("utf-8", "replace"))
    return f"<{AttributeProto.AttributeType.Name(attribute.type).lower()}>"
