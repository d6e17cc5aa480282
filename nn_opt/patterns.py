"""Patterns that are functions."""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from types import SimpleNamespace, UnionType
from typing import Any, TypeAlias, Union, cast, get_args, get_origin

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from nn_opt.pass_options import checked_option, is_option_type

Function: TypeAlias = Callable[..., None]


@dataclass(frozen=True)
class FunctionPattern(RewritePattern):
    """A pattern that is a function of an op, a rewriter and, perhaps, options."""

    function: Function
    roots: tuple[type[Operation], ...]
    options: Mapping[str, Option] = field(default_factory=dict[str, "Option"])
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def open_options(self) -> Mapping[str, Option]:
        """The options without a given value."""
        return {key: option for key, option in self.options.items() if key not in self.given}

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, self.roots):
            self.function(op, rewriter, **self.given)

    def with_options(self, **options: Any) -> FunctionPattern:
        """Return the pattern with other values of its options.

        Raises: TypeError for an option that it does not have, or a value of another type.
        """
        for key, value in options.items():
            if key not in self.options:
                raise TypeError(f"the pattern {self.name} has no option {key!r}")
            checked_option(self.name, key, value, self.options[key].type)
        return dataclasses.replace(self, given={**self.given, **options})

    def __repr__(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.given.items())
        return f"<pattern {self.name}{given}>"


@dataclass(frozen=True)
class Option:
    """An option of a pattern, and of the pass that it becomes."""

    type: Any
    default: Any


def pattern(function: Function) -> FunctionPattern:
    """Make a pattern of a function `(op, rewriter)`, for ops of the type that `op` is annotated by.

    That is a class of ops, a union of some, or `Operation` for all. Parameters with defaults after
    `rewriter` are options. A function that does nothing to `rewriter` has not matched.

    >>> import nn_opt
    >>> from xdsl.pattern_rewriter import PatternRewriter
    >>> from nn_opt.dialects import graph
    >>> @nn_opt.pattern
    ... def no_double_relu(op: graph.ReluOp, rewriter: PatternRewriter):
    ...     '''relu(relu(x))  ->  relu(x)'''
    ...     if isinstance(op.x.owner, graph.ReluOp):
    ...         rewriter.replace(op, [], [op.x])
    >>> no_double_relu
    <pattern no_double_relu>
    """
    return make_pattern(function, sys._getframe(1).f_locals)  # pyright: ignore[reportPrivateUsage]


def make_pattern(function: Function, names: Mapping[str, Any]) -> FunctionPattern:
    """Return a pattern; `names` are those visible where the function is defined."""
    parameters = list(signature(function).parameters.values())
    if len(parameters) < 2 or any(p.default is not Parameter.empty for p in parameters[:2]):
        raise TypeError(f"{function.__name__} has to take an op and a rewriter first")
    op, _, *rest = parameters
    if op.annotation is Parameter.empty:
        raise TypeError(f"{function.__name__}: annotate {op.name!r} by the op to match, or a union")
    types = _op_types(function.__name__, op.name, _resolved(function, op, names))
    options = {p.name: _option(function, p, names) for p in rest}
    return FunctionPattern(function, types, options)


def _resolved(function: Function, parameter: Parameter, names: Mapping[str, Any]) -> Any:
    """Return what an annotation stands for; text, as of `from __future__`, is looked up."""
    holder = SimpleNamespace(__annotations__={"it": parameter.annotation})
    try:
        return typing.get_type_hints(holder, function.__globals__, dict(names))["it"]
    except (NameError, AttributeError, SyntaxError) as error:
        where = f"{function.__name__}: annotation {parameter.annotation!r} of {parameter.name!r}"
        raise TypeError(f"{where}: {error}") from error


def _op_types(function: str, name: str, hint: Any) -> tuple[type[Operation], ...]:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for part in parts:
        if not (isinstance(part, type) and issubclass(part, Operation)):
            raise TypeError(f"{function}: {name!r} is annotated by {part!r}, which is no op class")
    return parts


def _option(function: Function, parameter: Parameter, names: Mapping[str, Any]) -> Option:
    where = f"{function.__name__}: option {parameter.name!r}"
    if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        raise TypeError(
            f"{function.__name__}: options have names, so there is no *{parameter.name}"
        )
    if parameter.default is Parameter.empty:
        raise TypeError(f"{where} needs a default")
    default: Any = parameter.default
    type_: Any = cast(object, type(default))
    if parameter.annotation is not Parameter.empty:
        type_ = _resolved(function, parameter, names)
    if not is_option_type(type_):
        raise TypeError(f"{where} is of type {type_!r}, expected int, float, bool, str or a tuple")
    return Option(type_, default)
