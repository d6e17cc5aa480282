"""The data flow of a function, to be drawn: a node for each op or call of its outermost block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ShapedType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

DRAWN = ("graph.", "tensor.")
HIDDEN = ("graph.constant", "tensor.constant", "graph.yield", "tensor.yield")
VIEWS = ("loop.view",)
MOST_NODES = 4000  # a larger picture says nothing


@dataclass
class Node:
    """An op, a call, an input or the results.

    op: its number among those of the function's text; -1 for inputs.
    rows: the ops inside it that are worth naming, and their numbers.
    weights: what is constant among the operands.
    """

    kind: str
    label: str
    type: str
    op: int
    rows: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    weights: list[str] = field(default_factory=list[str])


@dataclass
class Graph:
    """Nodes, and edges as numbers of nodes and the type that goes along."""

    nodes: list[Node] = field(default_factory=list[Node])
    edges: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])


def graph_of(function: Operation, ops: Sequence[Operation]) -> Graph | None:
    """Return the graph of a function whose ops are numbered by `ops`; None if it has none."""
    if not function.regions or not function.regions[0].blocks:
        return None
    block = function.regions[0].blocks[0]
    drawn = [op for op in block.ops if _is_drawn(op)]
    if not drawn or len(drawn) > MOST_NODES:
        return None
    return _Drawing(function, ops, _names(function)).draw(block, drawn)


def _is_drawn(op: Operation) -> bool:
    if isinstance(op, func.CallOp):
        return True
    return op.name.startswith(DRAWN) and op.name not in HIDDEN


def _names(function: Operation) -> list[str]:
    names = function.attributes.get("arg_names")
    given = getattr(names, "data", ())
    return [item.data for item in given if isinstance(item, StringAttr)]


class _Drawing:
    def __init__(self, function: Operation, ops: Sequence[Operation], names: Sequence[str]) -> None:
        self.callees = _functions_beside(function)
        self.numbers = {op: number for number, op in enumerate(ops)}
        self.names = names
        self.graph = Graph()
        self.sources: dict[SSAValue, int] = {}  # which node a value, or what a buffer holds, is of

    def draw(self, block: Block, drawn: Sequence[Operation]) -> Graph:
        self._inputs(block, drawn)
        for op in drawn:
            self._add(op)
        last = block.last_op
        if last is not None and last.name == "func.return":
            outputs = [*last.operands, *self._written(block)]
            number = self._node(Node("output", "outputs", "", self.numbers.get(last, -1)))
            self._connect(number, outputs)
        return self.graph

    def _node(self, node: Node) -> int:
        self.graph.nodes.append(node)
        return len(self.graph.nodes) - 1

    def _inputs(self, block: Block, drawn: Sequence[Operation]) -> None:
        read = {root_of(value) for op in drawn for value in self._inputs_of(op)}
        for argument in block.args:
            if argument in read:
                name = _argument_name(argument, self.names)
                node = Node("input", name, type_text(argument.type), -1)
                self.sources[argument] = self._node(node)

    def _written(self, block: Block) -> Iterator[SSAValue]:
        """Yield the buffers of the function's results."""
        for argument in block.args:
            if isinstance(argument.type, MemRefType) and argument in self.sources:
                if self.graph.nodes[self.sources[argument]].kind != "input":
                    yield argument

    def _add(self, op: Operation) -> None:
        label = op.callee.string_value() if isinstance(op, func.CallOp) else op.name
        written = [*op.results, *self._split_arguments(op)[1]]
        shown = type_text(written[0].type) if written else ""
        kind = "call" if isinstance(op, func.CallOp) else op.name
        number = self._node(Node(kind, label, shown, self.numbers.get(op, -1), self._rows(op)))
        self._connect(number, self._inputs_of(op))
        for value in written:
            self.sources[root_of(value)] = number

    def _inputs_of(self, op: Operation) -> list[SSAValue]:
        captured = [value for child in _inside(op) for value in child.operands]
        return [*self._split_arguments(op)[0], *dict.fromkeys(captured)]

    def _split_arguments(self, op: Operation) -> tuple[list[SSAValue], list[SSAValue]]:
        """Return what an op reads and, of a call whose results are buffers, what it writes."""
        operands = list(op.operands)
        if not isinstance(op, func.CallOp) or op.results:
            return operands, []
        callee = self.callees.get(op.callee.string_value())
        outputs = _count(callee, "num_outputs") if callee is not None else 0
        end = len(operands) - (_count(callee, "num_scratch") if callee is not None else 0)
        return operands[: end - outputs], operands[end - outputs : end]

    def _rows(self, op: Operation) -> list[tuple[str, int]]:
        if op.name.startswith("tensor."):  # formulas are told by their text
            return []
        inner = [child for region in op.regions for child in region.walk() if _is_drawn(child)]
        return [(child.name, self.numbers.get(child, -1)) for child in inner]

    def _connect(self, number: int, values: Sequence[SSAValue]) -> None:
        for value in values:
            root = root_of(value)
            source = self.sources.get(root)
            text = type_text(value.type)
            if source is not None:
                self.graph.edges.append((source, number, text))
            elif isinstance(root.owner, Operation) and root.owner.name.endswith(".constant"):
                self.graph.nodes[number].weights.append(text)


def root_of(value: SSAValue) -> SSAValue:
    """Return the buffer that a view shows, but for views of the arena, which are buffers."""
    owner = value.owner
    while isinstance(owner, Operation) and owner.name in VIEWS:
        source = owner.operands[0]
        if isinstance(source.owner, Operation) and source.owner.name == "loop.arena":
            break
        value, owner = source, source.owner
    return value


def _inside(op: Operation) -> Iterator[Operation]:
    return (child for region in op.regions for child in region.walk())


def _functions_beside(function: Operation) -> dict[str, func.FuncOp]:
    module = function.parent
    inside = module.ops if module is not None else ()
    return {op.sym_name.data: op for op in inside if isinstance(op, func.FuncOp)}


def _count(function: Operation, key: str) -> int:
    value = function.attributes.get(key)
    return value.value.data if isinstance(value, IntegerAttr) else 0


def _argument_name(argument: BlockArgument, names: Sequence[str]) -> str:
    if argument.index < len(names):
        return names[argument.index]
    return argument.name_hint or f"arg{argument.index}"


def type_text(type_: Attribute) -> str:
    """Return sizes and element type, such as `1x64x56x56xf32`."""
    if isinstance(type_, ShapedType):
        element = getattr(type_, "element_type", "")
        sizes = ["?" if size < 0 else str(size) for size in type_.get_shape()]
        return "x".join([*sizes, str(element)])
    return str(type_)
