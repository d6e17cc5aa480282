"""Interpreter functions from a table: one plain function an operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Operation

Meaning: TypeAlias = Callable[[Any, PythonValues], PythonValues]
"""From an operation and the values of its operands to the values of its results."""


def functions_of(table: Mapping[type[Operation], Meaning]) -> type[InterpreterFunctions]:
    """Return a class that xDSL's interpreter takes, with an entry for each row."""
    members = {f"run_{op.__name__}": impl(op)(_method(rule)) for op, rule in table.items()}
    return register_impls(type("TableFunctions", (InterpreterFunctions,), members))


def _method(meaning: Meaning) -> Callable[..., PythonValues]:
    def run(
        self: InterpreterFunctions, interpreter: Interpreter, op: Operation, values: PythonValues
    ) -> PythonValues:
        return meaning(op, values)

    return run
