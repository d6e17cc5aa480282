"""`--reduce=CMD`: a smaller module on which a command still exits with 0, by delta debugging."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver.checks import Check, make_check
from nn_opt.driver.reduce_shapes import shrink_sizes, total_size
from nn_opt.driver.reductions import (
    Edit,
    delete_attributes,
    delete_blocks,
    delete_operations,
    merge_blocks,
    open_regions,
    shorten_signatures,
    straighten_branches,
)
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify

EDITS: dict[str, Edit] = {
    "operations": delete_operations,
    "branches": straighten_branches,
    "blocks": delete_blocks,
    "joints": merge_blocks,
    "regions": open_regions,
    "signatures": shorten_signatures,
    "attributes": delete_attributes,
    "sizes": shrink_sizes,
}


def reduce_module(module: ModuleOp, command: str) -> ModuleOp:
    """Return a module that the command accepts, and none of whose single edits it accepts.

    The same module and command give the same result. Every candidate is verified first.
    Raises: DiagnosticError if the command does not accept the module as it is.
    """
    with make_check("--reduce", command) as check:
        if not check.accepts(module):
            raise DiagnosticError(
                "error: --reduce: the command fails on the input already\n"
                "  hint: it has to exit with 0 as long as the module is interesting"
            )
        reducer = Reducer(module, check)
        while any([reducer.run(title, edit) for title, edit in EDITS.items()]):
            pass
        return reducer.module


Weight = tuple[int, int, int, int]


def weigh(module: ModuleOp, text: str) -> Weight:
    """Return what has to shrink: operations, then values, then sizes, then text."""
    operations = list(module.walk())
    values = sum(len(op.operands) + len(op.results) + len(op.successors) for op in operations)
    blocks = [block for op in operations for region in op.regions for block in region.blocks]
    values += len(blocks) + sum(len(block.args) for block in blocks)
    return len(operations), values, total_size(module), len(text)


@dataclass
class Reducer:
    """The smallest module so far."""

    module: ModuleOp
    check: Check
    _tried: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self._weight = weigh(self.module, print_module(self.module))

    def run(self, title: str, edit: Edit) -> bool:
        """Apply edits of one kind, from all at once down to single ones; return whether any did."""
        before = self._weight
        chunk = len(edit(self.module))
        while chunk:
            stop = len(edit(self.module))
            while stop > 0:
                self._attempt(edit, max(0, stop - chunk), stop)
                stop = min(stop - chunk, len(edit(self.module)))
            chunk //= 2
        if self._weight == before:
            return False
        sizes = f"{before[0]} -> {self._weight[0]} operations, {self._weight[3]} bytes"
        sys.stderr.write(f"reduce: {title}: {sizes}, {self.check.runs} runs\n")
        return True

    def _attempt(self, edit: Edit, start: int, stop: int) -> None:
        """Keep the module with some edits if it is smaller, right, new and accepted."""
        candidate = self.module.clone()
        actions = edit(candidate)[start:stop]
        try:
            for action in reversed(actions):
                action()
            verify(candidate)
            text = print_module(candidate)
        except Exception:  # edits may cross each other, and leave what no verifier foresees
            return
        weight = weigh(candidate, text)
        if weight >= self._weight or hash(text) in self._tried:
            return
        self._tried.add(hash(text))
        if self.check.accepts(candidate):
            self.module, self._weight = candidate, weight
