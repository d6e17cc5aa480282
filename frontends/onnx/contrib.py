"""What operators of com.microsoft share: their signatures, which ONNX's checker does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nn_opt.frontends.onnx.node import Node
from nn_opt.frontends.onnx.table import Request, converts

DOMAIN = "com.microsoft"
NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True)
class Signature:
    """Operands and attributes of an operator.

    needed: operands that must be there; most: how many there may be at most. attrs: names of
    attributes, with `!` after one that must be there. only: integers that must have this value.
    """

    needed: Sequence[int]
    most: int
    attrs: str = ""
    only: Mapping[str, int] = field(default_factory=lambda: NOTHING)

    def refusal(self, request: Request) -> str:
        """Return what is wrong with a node, '' if nothing is."""
        names = [name.rstrip("!") for name in self.attrs.split()] + list(self.only)
        wanted = [name[:-1] for name in self.attrs.split() if name.endswith("!")]
        given = [entry.name for entry in request.attrs.proto.attribute]
        if unknown := [name for name in given if name not in names]:
            listed = ", ".join(names) or "none"
            return f"attribute '{unknown[0]}' is unknown, expected one of {listed}"
        if missing := [name for name in wanted if name not in given]:
            return f"attribute '{missing[0]}' is missing"
        if absent := [index for index in self.needed if not request.has(index)]:
            return f"operand {absent[0]} is missing"
        if len(request.inputs) > self.most:
            return f"{len(request.inputs)} operands, expected at most {self.most}"
        for name, value in self.only.items():
            if request.attrs.int(name, value) != value:
                return f"{name} = {request.attrs.int(name)}"
        return ""


def contrib(
    *op_types: str,
    needs: int | Sequence[int],
    most: int | None = None,
    attrs: str = "",
    only: Mapping[str, int] = NOTHING,
):
    """Decorate a converter of operators of com.microsoft; `needs` counts, or lists, operands."""
    needed = range(needs) if isinstance(needs, int) else needs
    signature = Signature(needed, most or len(needed), attrs, only)
    return converts(*op_types, domain=DOMAIN, refusal=signature.refusal)


def at_version(node: Node, version: int) -> Node:
    """Return a node as one of the main operator set."""
    return replace(node, version=version)
