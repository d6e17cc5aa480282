"""`--reduce=CMD`: something smaller on which a command still exits with 0, by delta debugging."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver.checks import make_check
from nn_opt.driver.reduce_shapes import shrink_sizes, total_size
from nn_opt.driver.reductions import (
    delete_attributes,
    delete_blocks,
    delete_operations,
    merge_blocks,
    open_regions,
    shorten_signatures,
    straighten_branches,
)
from nn_opt.instruments.reproducer import save_beside
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify

Action = Callable[[], None]
Edit = Callable[[Any], Sequence[Action]]
Weight = tuple[int, ...]

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


class Judge(Protocol):
    """The command, and how often it ran."""

    @property
    def runs(self) -> int: ...

    def accepts(self, subject: Any, /) -> bool: ...


class Kind(Protocol):
    """How to handle one kind of thing that can be reduced: a module, or a model of a format."""

    @property
    def edits(self) -> Mapping[str, Edit]: ...

    def copy(self, subject: Any) -> Any: ...

    def text(self, subject: Any) -> str | bytes:
        """Return what tells it from others; raises anything if it is not valid."""
        ...

    def weigh(self, subject: Any, text: str | bytes) -> Weight:
        """Return what has to shrink, operations or nodes first."""
        ...


class Modules:
    """IR: operations weigh most, then values, then sizes, then text."""

    @property
    def edits(self) -> Mapping[str, Edit]:
        """What can be made smaller."""
        return EDITS

    def copy(self, subject: ModuleOp) -> ModuleOp:
        return subject.clone()

    def text(self, subject: ModuleOp) -> str:
        verify(subject)
        return print_module(subject)

    def weigh(self, subject: ModuleOp, text: str | bytes) -> Weight:
        operations = list(subject.walk())
        values = sum(len(op.operands) + len(op.results) + len(op.successors) for op in operations)
        blocks = [block for op in operations for region in op.regions for block in region.blocks]
        values += len(blocks) + sum(len(block.args) for block in blocks)
        return len(operations), values, total_size(subject), len(text)


def reduce_module(module: ModuleOp, command: str) -> ModuleOp:
    """Return a module that the command accepts, and none of whose single edits it accepts.

    The same module and command give the same result. Every candidate is verified first.
    Raises: DiagnosticError if the command does not accept the module as it is.
    """
    with make_check("--reduce", command) as check:
        return reduce(module, check, Modules())


def save_weights_beside(module: ModuleOp, output: str) -> None:
    """Write the weights of what is left to OUTPUT.safetensors, where the command found them."""
    if output != "-" and (os.path.isfile(output) or not os.path.exists(output)):
        save_beside(module, output)


def reduce(subject: Any, check: Judge, kind: Kind) -> Any:
    """Return what is left of a subject, see `reduce_module`; after Ctrl-C, what is so far."""
    if not check.accepts(subject):
        raise DiagnosticError(
            "error: --reduce: the command fails on the input already\n"
            "  hint: it has to exit with 0 as long as the input is interesting"
        )
    reducer = Reducer(subject, check, kind)
    try:
        while any([reducer.run(title) for title in kind.edits]):
            pass
    except KeyboardInterrupt:
        sys.stderr.write(f"reduce: interrupted after {check.runs} runs: the smallest so far\n")
    return reducer.subject


@dataclass
class Reducer:
    """The smallest subject so far."""

    subject: Any
    check: Judge
    kind: Kind
    _tried: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self._weight = self.kind.weigh(self.subject, self.kind.text(self.subject))

    def run(self, title: str) -> bool:
        """Apply edits of one kind, from all at once down to single ones; return whether any did."""
        before, edit = self._weight, self.kind.edits[title]
        chunk = len(edit(self.subject))
        while chunk:
            stop = len(edit(self.subject))
            while stop > 0:
                self._attempt(edit, max(0, stop - chunk), stop)
                stop = min(stop - chunk, len(edit(self.subject)))
            chunk //= 2
        if self._weight == before:
            return False
        sizes = f"{before[0]} -> {self._weight[0]} operations, {self._weight[-1]} bytes"
        sys.stderr.write(f"reduce: {title}: {sizes}, {self.check.runs} runs\n")
        return True

    def _attempt(self, edit: Edit, start: int, stop: int) -> None:
        """Keep the subject with some edits if it is smaller, right, new and accepted."""
        candidate = self.kind.copy(self.subject)
        actions = edit(candidate)[start:stop]
        try:
            for action in reversed(actions):
                action()
            text = self.kind.text(candidate)
        except Exception:  # edits may cross each other, and leave what no verifier foresees
            return
        weight = self.kind.weigh(candidate, text)
        if weight >= self._weight or hash(text) in self._tried:
            return
        self._tried.add(hash(text))
        if self.check.accepts(candidate):
            self.subject, self._weight = candidate, weight
