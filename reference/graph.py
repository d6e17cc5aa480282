"""What each graph op means, in NumPy: the judge of every pass and backend. Clear, never fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.ir.types import element_type, is_static, numpy_dtype, shape_of
from nn_opt.reference import (
    graph_blocks,
    graph_elementwise,
    graph_movement,
    graph_reduction,
    graph_sampling,
    graph_sorting,
    graph_windows,
    graph_winograd,
)

Array = NDArray[Any]

MEANING: dict[type[Operation], Callable[..., Array]] = {
    **graph_blocks.MEANING,
    **graph_elementwise.MEANING,
    **graph_movement.MEANING,
    **graph_reduction.MEANING,
    **graph_sampling.MEANING,
    **graph_sorting.MEANING,
    **graph_windows.MEANING,
    **graph_winograd.MEANING,
}


def evaluate(op: Operation, arrays: Sequence[Array]) -> list[Array]:
    """Return the results of one op without regions, in the element types that it declares.

    Raises: KeyError for an op without a meaning here; IndexError if an index is out of range.
    """
    result = op.results[0]
    with np.errstate(all="ignore"):
        array = np.asarray(MEANING[type(op)](op, *arrays))
        dtype = numpy_dtype(element_type(result))
        if array.dtype != dtype:
            array = graph_elementwise.as_type(array, dtype)
    expected = shape_of(result)
    assert not is_static(result) or array.shape == expected, (
        f"{op.name} computed shape {array.shape}, declared {expected}"
    )
    return [array]


@register_impls
class RegionFunctions(InterpreterFunctions):
    """The ops with regions."""

    @impl_terminator(graph.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: graph.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(graph.FusedOp)
    def run_fused(
        self, interpreter: Interpreter, op: graph.FusedOp, args: PythonValues
    ) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, args, op.name)

    @impl(graph.ScanOp)
    def run_scan(
        self, interpreter: Interpreter, op: graph.ScanOp, args: PythonValues
    ) -> PythonValues:
        states, scanned = args[: op.states], args[op.states :]
        steps = range(op.length)
        outputs: dict[int, PythonValues] = {}
        for step in reversed(steps) if op.reverse is not None else steps:
            slices = (array[step] for array in scanned)
            yielded = interpreter.run_ssacfg_region(op.body, (*states, *slices), op.name)
            states, outputs[step] = yielded[: op.states], yielded[op.states :]
        return (*states, *_stacked(op, [outputs[step] for step in steps]))


def _stacked(op: graph.ScanOp, steps: Sequence[PythonValues]) -> list[Array]:
    """Return one array an output, its slices along a new axis 0; of no steps, empty ones."""
    results = op.outputs[op.states :]
    stacks = [
        np.empty((len(steps), *shape_of(result)[1:]), numpy_dtype(element_type(result)))
        for result in results
    ]
    for index, values in enumerate(steps):
        for stack, value in zip(stacks, values, strict=True):
            stack[index] = value
    return stacks


def _run(
    functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    return tuple(evaluate(op, args))


# One method an op of the table, since an Interpreter looks for methods.
TableFunctions = register_impls(
    type(
        "TableFunctions",
        (InterpreterFunctions,),
        {op_type.name.replace(".", "_"): impl(op_type)(_run) for op_type in MEANING},
    )
)

FUNCTIONS: list[type[InterpreterFunctions]] = [RegionFunctions, TableFunctions]
