"""The names that the nodes of a graph see: its own, then those of the graphs around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from onnx import GraphProto, TensorProto
from xdsl.ir import Block, SSAValue


@dataclass
class Scope:
    """A graph whose nodes are converted: the model's, or one that is an attribute of a node.

    weights: the graph's own initializers by name.
    block: where what its nodes become is added.
    prefix: what the labels of its nodes begin with, the node around them.
    line: the place, in the model's own list of nodes, of the node around them.
    """

    graph: GraphProto
    weights: dict[str, TensorProto]
    block: Block
    outer: Scope | None = None
    prefix: str = ""
    line: int | None = None
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])

    def defining(self, name: str) -> Scope:
        """Return the innermost scope that defines a name; structure was checked before."""
        return next(s for s in self.outwards() if name in s.values or name in s.weights)

    def outwards(self) -> Iterator[Scope]:
        """Yield this scope, the one around it and so on."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer
