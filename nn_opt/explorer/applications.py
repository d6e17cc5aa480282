"""A pass rewrite by rewrite: the function that a pattern changed, as it was after each change."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation

from nn_opt.ir.printing import ExactPrinter

MOST_LINES = 40_000  # that are kept of a pass: printing takes about 20 us a line


@dataclass(frozen=True)
class Application:
    """A pattern that changed something, and the lines of the function after it."""

    pattern: str
    function: str
    lines: list[str]


@dataclass
class Applications:
    """Keeps the first applications of the patterns of a pass."""

    module: ModuleOp
    kept: list[Application] = field(default_factory=list[Application])
    left_out: int = 0
    _lines: int = 0
    _block: Block | None = None  # where the op is that a pattern is tried on

    def before(self, op: Operation) -> None:
        """Note where an op is: it may be gone after the pattern."""
        self._block = op.parent

    def after(self, pattern: str) -> None:
        """Keep what a pattern made of the function."""
        function = self._function()
        if function is None or self._lines >= MOST_LINES:
            self.left_out += 1
            return
        name = function.get_attr_or_prop("sym_name")
        assert isinstance(name, StringAttr)
        lines = lines_of(function)
        self._lines += len(lines)
        self.kept.append(Application(pattern, name.data, lines))

    def _function(self) -> Operation | None:
        """Return the function of the module that holds the block, if it is in one."""
        op = self._block.parent_op() if self._block is not None else None
        while op is not None and op.parent_op() is not self.module:
            op = op.parent_op()
        named = op is not None and isinstance(op.get_attr_or_prop("sym_name"), StringAttr)
        return op if named else None


def lines_of(function: Operation) -> list[str]:
    """Return the text of a function alone."""
    stream = StringIO()
    ExactPrinter(stream).print_op(function)
    return stream.getvalue().split("\n")
