"""Python functions that PDL patterns call by name: conditions, and steps of a rewrite.

A condition gets what its operands stand for: an Operation, an SSAValue, an Attribute (types are
attributes), or a tuple of these for a range. A step gets a PatternRewriter before them, and
returns what its result stands for, a tuple if it has several, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Operation, SSAValue

Condition: TypeAlias = Callable[..., bool]
Step: TypeAlias = Callable[..., Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])

CONSTRAINTS: dict[str, Condition] = {}
REWRITES: dict[str, Step] = {}


def pdl_constraint(name: str) -> Callable[[_Function], _Function]:
    """Let `pdl.apply_native_constraint "name"(...)` call the function below."""

    def register(function: _Function) -> _Function:
        CONSTRAINTS[name] = function
        return function

    return register


def pdl_rewrite(name: str) -> Callable[[_Function], _Function]:
    """Let `pdl.apply_native_rewrite "name"(...)`, and `with "name"`, call the function below."""

    def register(function: _Function) -> _Function:
        REWRITES[name] = function
        return function

    return register


@pdl_constraint("has_one_use")
def has_one_use(found: Operation | SSAValue) -> bool:
    """Return whether a value, or all results together, are read once."""
    results = (found,) if isinstance(found, SSAValue) else found.results
    return sum(len(list(result.uses)) for result in results) == 1


@pdl_constraint("has_static_shape")
def has_static_shape(found: SSAValue | Attribute) -> bool:
    """Return whether a type, or that of a value, has a shape without unknown sizes."""
    type_ = found.type if isinstance(found, SSAValue) else found
    return isinstance(type_, ShapedType) and type_.has_static_shape()
