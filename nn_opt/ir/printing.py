"""Module to text. Weights are keys in it; `ir.weights` writes the arrays beside it."""

from __future__ import annotations

from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer

from nn_opt.ir.recursion import allow_deep_nesting


def print_module(module: Operation, *, generic: bool = False, locations: bool = False) -> str:
    """Return the text of a module, ended by a newline."""
    allow_deep_nesting()
    stream = StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=locations).print_op(module)
    stream.write("\n")
    return stream.getvalue()
