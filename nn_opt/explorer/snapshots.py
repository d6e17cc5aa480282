"""A module at one moment: its text in parts, one for each function, and the line of each op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from nn_opt.explorer.graphs import Graph, graph_of
from nn_opt.ir.printing import ExactPrinter
from nn_opt.ir.recursion import allow_deep_nesting

MODULE, FUNCTION, SCRIPT, OTHER, END = "module", "function", "script", "other", "end"


class _LinePrinter(ExactPrinter):
    """A printer that notes on which line each op begins."""

    lines: dict[Operation, int]

    def print_op(self, op: Operation) -> None:
        self.lines.setdefault(op, self._current_line)
        super().print_op(op)


@dataclass(frozen=True)
class Part:
    """A stretch of a module's text: a function, a schedule, what else there is at the top.

    lines: where each op begins, from the part's own first line.
    """

    name: str
    kind: str
    text: str
    ops: Sequence[Operation] = field(repr=False)
    lines: tuple[int, ...] = field(repr=False)
    graph: Graph | None = None


def parts_of(module: ModuleOp) -> list[Part]:
    """Return the text of a module in parts; joined, they are what `print_module` returns."""
    allow_deep_nesting()
    stream = StringIO()
    printer = _LinePrinter(stream)
    printer.lines = {}
    printer.print_op(module)
    texts = stream.getvalue().split("\n")
    begins = printer.lines
    cuts = list(_cuts(module, begins, len(texts)))
    ends = [*(begin for _, _, begin, _ in cuts[1:]), len(texts)]
    ops = sorted(begins, key=begins.__getitem__)  # stable: as printed
    return list(_parts(cuts, ends, ops, begins, texts))


def _parts(
    cuts: Sequence[tuple[str, str, int, Operation | None]],
    ends: Sequence[int],
    ops: Sequence[Operation],
    begins: dict[Operation, int],
    texts: Sequence[str],
) -> Iterator[Part]:
    position = 0
    for (name, kind, begin, root), end in zip(cuts, ends, strict=True):
        start = position
        while position < len(ops) and begins[ops[position]] < end:
            position += 1
        mine = ops[start:position]
        lines = tuple(begins[op] - begin for op in mine)
        graph = graph_of(root, mine) if kind == FUNCTION and root is not None else None
        yield Part(name, kind, "\n".join(texts[begin:end]), mine, lines, graph)


def _cuts(
    module: ModuleOp, begins: dict[Operation, int], length: int
) -> Iterator[tuple[str, str, int, Operation | None]]:
    """Yield name, kind and first line of each part, and the op that it shows."""
    yield "module", MODULE, 0, None
    last = MODULE
    for op in module.ops:
        name, kind = _described(op)
        if kind == OTHER and last == OTHER:
            continue
        yield name, kind, begins[op], op
        last = kind
    if module.body.blocks and length > 1:
        yield "", END, length - 1, None


def _described(op: Operation) -> tuple[str, str]:
    symbol = op.get_attr_or_prop("sym_name")
    if op.name == "sched.script":
        kernel = op.get_attr_or_prop("kernel")
        return (kernel.string_value() if isinstance(kernel, SymbolRefAttr) else ""), SCRIPT
    if op.regions and isinstance(symbol, StringAttr) and op.name.endswith(".func"):
        return symbol.data, FUNCTION
    return "globals", OTHER
