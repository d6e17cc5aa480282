"""loop: buffers are arrays that are written in place; fresh ones are full of NaN."""

from __future__ import annotations

from typing import Any

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Operation

from nn_opt.dialects import loop
from nn_opt.reference.independence import Independence
from nn_opt.reference.nests import Nest
from nn_opt.reference.places import Maps


class NestFunctions(InterpreterFunctions):
    """Keeps what it found out about each nest between runs of one interpreter."""

    def __init__(self) -> None:
        self.facts: dict[Operation, Independence] = {}
        self.maps: Maps = {}

    def run_nest(
        self, interpreter: Interpreter, op: Operation, values: PythonValues
    ) -> PythonValues:
        """Run an op and all that is in it."""
        if op not in self.facts:
            self.facts[op] = Independence(op)
        nest = Nest(interpreter, self.facts[op], self.maps)
        twins = nest.twins()
        if twins:
            nest.facts = Independence(op, twins)
        nest.together = twins is not None
        return nest.run(op)


def _functions() -> type[InterpreterFunctions]:
    members: dict[str, Any] = {
        f"run_{kind.__name__}": impl(kind)(NestFunctions.run_nest) for kind in loop.Loop.operations
    }
    return register_impls(type("LoopFunctions", (NestFunctions,), members))


FUNCTIONS: list[type[InterpreterFunctions]] = [_functions()]
