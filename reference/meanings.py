"""What ops of others mean: functions that a program registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.interpreter import PythonValues
from xdsl.ir import Operation

from nn_opt.ir.types import element_type, is_static, numpy_dtype, shape_of
from nn_opt.reference.tables import Meaning

Function = TypeVar("Function", bound=Callable[..., Any])
REGISTERED: dict[type[Operation], Meaning] = {}


def meaning(op_type: type[Operation]) -> Callable[[Function], Function]:
    """Make a function `(op, *arrays)` what the interpreter, and `--check`, do for an op.

    It returns an array, or a tuple of one for each result; elements are cast to the types that
    the op declares.

        @nn_opt.meaning(TwiceOp)
        def twice(op, x):
            return 2 * x
    """

    def register(function: Function) -> Function:
        REGISTERED[op_type] = _typed(function)
        return function

    return register


def _typed(function: Callable[..., Any]) -> Meaning:
    def evaluate(op: Operation, values: PythonValues) -> PythonValues:
        results: Any = function(op, *values)
        arrays: Sequence[Any] = cast(Any, results) if isinstance(results, tuple) else (results,)
        pairs = zip(op.results, arrays, strict=True)
        return tuple(_of_type(op, value.type, array) for value, array in pairs)

    return evaluate


def _of_type(op: Operation, type_: Any, array: Any) -> Any:
    made = np.asarray(array, numpy_dtype(element_type(type_)))
    if not hasattr(type_, "get_shape"):
        return made[()]
    assert not is_static(type_) or made.shape == shape_of(type_), (
        f"{op.name} computed the shape {list(made.shape)}, declared {type_}"
    )
    return made
