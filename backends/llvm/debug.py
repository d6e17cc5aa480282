"""Where instructions come from, as DWARF has it: a file's line, and the model's node.

A node is like a function that is inlined where its kernel has code of it: debuggers and profilers
show frames such as `/conv1 at model.onnx:7` in `conv_relu_0 at model.onnx:7`. The line is that of
the location: for a model, the number of the node, from 1 on. Of a fused location the line is the
first part's, and the name has several nodes.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import llvm
from xdsl.dialects.builtin import CallSiteLoc, LocationAttr
from xdsl.ir import Attribute, Operation

from nn_opt.backends.llvm.words import escaped
from nn_opt.ir.locations import file_place, node_names

FIRST = 3  # the number of the first node here: those before are in `printer.METADATA`
_UNIT, _TYPE, _DWARF, _FLAG = range(FIRST, FIRST + 4)
_MOST_NAMES = 3  # nodes that a frame names
Place = tuple[str, int, int]


@dataclass
class DebugInfo:
    """The metadata of a module in progress; `source` names the file of what has none."""

    source: str
    _bodies: list[str] = field(default_factory=list[str])  # of the nodes from _FLAG + 1 on
    _known: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    _lines: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])

    def function(self, op: llvm.FuncOp) -> str:
        """Return the node of a function."""
        name = op.sym_name.data
        local = "DISPFlagLocalToUnit | " if op.linkage.linkage.data != "external" else ""
        return self._subprogram(name, self._place(op.location), ("function", name), local)

    def line(self, location: LocationAttr, scope: str) -> str:
        """Return the node of a location in the function whose node is `scope`."""
        key = id(location), scope  # the module keeps all locations alive
        known = self._lines.get(key)
        if known is None:
            known = self._lines[key] = self._line(location, scope)
        return known

    def footer(self) -> Iterator[str]:
        """Yield the lines of the nodes, and of the names by which LLVM finds them."""
        unit = f'file: {self._file(self.source)}, producer: "nn-opt", isOptimized: true'
        kind = "runtimeVersion: 0, emissionKind: FullDebug"
        yield f"!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C, {unit}, {kind})"
        yield f"!{_TYPE} = !DISubroutineType(types: !{{}})"
        yield f'!{_DWARF} = !{{i32 7, !"Dwarf Version", i32 4}}'
        yield f'!{_FLAG} = !{{i32 2, !"Debug Info Version", i32 3}}'
        for number, body in enumerate(self._bodies, _FLAG + 1):
            yield f"!{number} = {body}"
        yield f"!llvm.dbg.cu = !{{!{_UNIT}}}"
        yield f"!llvm.module.flags = !{{!{_DWARF}, !{_FLAG}}}\n"

    def _line(self, location: Attribute, scope: str) -> str:
        place = self._place(location)
        if isinstance(location, CallSiteLoc):
            frame = self._node_frame(name_of(location.callee) or "callee", place)
            return self._at(place, frame, self._call(self._place(location.caller), scope, frame))
        name = name_of(location)
        if not name:
            return self._at(place, self._in_file(scope, place[0]))
        frame = self._node_frame(name, place)
        return self._at(place, frame, self._call(place, scope, frame))

    def _node_frame(self, name: str, place: Place) -> str:
        return self._subprogram(name, place, ("node", name, place))

    def _place(self, location: Attribute) -> Place:
        return file_place(location) or (self.source, 0, 0)

    def _subprogram(self, name: str, place: Place, key: Hashable, local: str = "") -> str:
        file, line, _ = place
        where = f"scope: {self._file(file)}, file: {self._file(file)}, line: {line}"
        what = f'name: "{escaped(name)}", {where}, type: !{_TYPE}, scopeLine: {line}'
        flags = f"spFlags: {local}DISPFlagDefinition | DISPFlagOptimized"
        number = self._node(f"distinct !DISubprogram({what}, {flags}, unit: !{_UNIT})", key)
        self._known.setdefault(("file of", number), file)
        return number

    def _call(self, place: Place, scope: str, frame: str) -> str:
        """Return where a function has the code of a node."""
        _, line, column = place
        inner = self._in_file(scope, place[0])
        node = f"distinct !DILocation(line: {line}, column: {column}, scope: {inner})"
        return self._node(node, ("call", scope, frame))

    def _at(self, place: Place, scope: str, inlined: str = "") -> str:
        _, line, column = place
        tail = f", inlinedAt: {inlined}" if inlined else ""
        return self._node(f"!DILocation(line: {line}, column: {column}, scope: {scope}{tail})")

    def _in_file(self, scope: str, file: str) -> str:
        """Return the scope of a function's lines that are in a file."""
        if self._known[("file of", scope)] == file:
            return scope
        there = f"scope: {scope}, file: {self._file(file)}, discriminator: 0"
        return self._node(f"!DILexicalBlockFile({there})")

    def _file(self, path: str) -> str:
        folder, name = os.path.split(path)
        if not os.path.isabs(path):
            folder, name = ("" if path.startswith("<") else os.getcwd()), path
        return self._node(f'!DIFile(filename: "{escaped(name)}", directory: "{escaped(folder)}")')

    def _node(self, body: str, key: Hashable = None) -> str:
        """Return the number of a node, new unless there is one with the key, or the same text."""
        known = self._known.get(key or body)
        if known is None:
            known = self._known[key or body] = f"!{_FLAG + 1 + len(self._bodies)}"
            self._bodies.append(body)
        return known


def name_of(location: Attribute) -> str:
    """Return the names of the nodes in a location, or nothing; weights have none here."""
    names = list(dict.fromkeys(node_names(location)))
    more = ["..."] if len(names) > _MOST_NAMES else []
    return "+".join([*names[:_MOST_NAMES], *more])


def source_of(module: Operation) -> str:
    """Return the file that a module comes from, as far as its locations know."""
    places = (file_place(op.location) for op in (module, *module.regions[0].block.ops))
    return next((place[0] for place in places if place is not None), "<unknown>")


def with_line(text: str, node: str) -> str:
    """Return the text of an op with its location behind each instruction."""
    if "\n" not in text:
        return f"{text}, !dbg {node}"
    lines = text.split("\n")
    return "\n".join(f"{line}, !dbg {node}" if line[:2] == "  " else line for line in lines)
