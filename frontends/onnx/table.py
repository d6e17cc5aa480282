"""The table of converters, filled by the decorator `converts` in the files of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nn_opt.frontends.onnx.node import Attributes, Node, Results


@dataclass(frozen=True)
class Request:
    """What is known of a node before any operand is: enough to say what is unsupported."""

    attrs: Attributes
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def has(self, index: int) -> bool:
        """Return whether an optional operand is given."""
        return index < len(self.inputs) and self.inputs[index] != ""


Refusal = Callable[[Request], str]


@dataclass(frozen=True)
class Converter:
    """How an operator becomes graph ops, and which of its forms have none ('' means supported)."""

    convert: Callable[[Node], Results]
    refusal: Refusal | None = None

    def refuses(self, request: Request) -> str:
        """Return why this form of the operator is unsupported, '' if it is supported."""
        return self.refusal(request) if self.refusal else ""


CONVERTERS: dict[tuple[str, str], Converter] = {}


def converts(*op_types: str, domain: str = "", refusal: Refusal | None = None):
    """Decorate a converter with the operators whose rows of the table it fills."""

    def fill(convert: Callable[[Node], Results]) -> Callable[[Node], Results]:
        for op_type in op_types:
            assert (domain, op_type) not in CONVERTERS, f"two converters for {op_type}"
            CONVERTERS[domain, op_type] = Converter(convert, refusal)
        return convert

    return fill
