"""The table of converters, filled by the decorator `converts` in the files of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

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
# Files that are imported where a model has an operator of the domain: most have none.
FILES_OF: dict[str, str] = {
    "ai.onnx.ml": "ml_features ml_linear ml_trees",
    "ai.onnx.preview.training": "training",
    "com.microsoft": """
        contrib_arrays contrib_attention contrib_bits contrib_elementwise contrib_experts
        contrib_grouped contrib_groups contrib_int8 contrib_linear contrib_normalization
        contrib_packed contrib_scores recurrent_int8
    """,
}
# Operators that onnxruntime writes in the main domain: they lie beside those of its own domain.
BESIDE: dict[tuple[str, str], str] = {("", "SimplifiedLayerNormalization"): "com.microsoft"}


def converter_of(key: tuple[str, str]) -> Converter | None:
    """Return the converter of an operator, given as domain and name; None if it has none."""
    _import_files_of(BESIDE.get(key, key[0]))
    return CONVERTERS.get(key)


def all_converters() -> Mapping[tuple[str, str], Converter]:
    """Return the whole table."""
    import_module("nn_opt.frontends.onnx.converters")
    for domain in FILES_OF:
        _import_files_of(domain)
    return CONVERTERS


@cache
def _import_files_of(domain: str) -> None:
    for name in FILES_OF.get(domain, "").split():
        import_module(f"nn_opt.frontends.onnx.{name}")


def converts(*op_types: str, domain: str = "", refusal: Refusal | None = None):
    """Decorate a converter with the operators whose rows of the table it fills."""

    def fill(convert: Callable[[Node], Results]) -> Callable[[Node], Results]:
        for op_type in op_types:
            assert (domain, op_type) not in CONVERTERS, f"two converters for {op_type}"
            CONVERTERS[domain, op_type] = Converter(convert, refusal)
        return convert

    return fill
