"""What an elementwise operation and a tensor's traffic cost, in the units that fusion compares."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from nn_opt.dialects import graph
from nn_opt.ir.types import element_type, is_static, numpy_dtype, shape_of

# Instructions a vector of results takes. A polynomial such as exp is about twenty of them, a
# division occupies its unit for about five; what is not listed is one.
INSTRUCTIONS: dict[type[Operation], int] = {
    graph.DivOp: 5,
    graph.ModOp: 10,
    graph.SqrtOp: 5,
    graph.ReciprocalOp: 5,
    graph.SoftsignOp: 6,
    graph.HardSigmoidOp: 3,
    graph.HardSwishOp: 4,
    graph.ExpOp: 20,
    graph.LogOp: 20,
    graph.TanhOp: 20,
    graph.SigmoidOp: 25,
    graph.ErfOp: 25,
    graph.GeluOp: 30,
    graph.EluOp: 22,
    graph.SeluOp: 22,
    graph.CeluOp: 25,
    graph.SoftplusOp: 40,
    graph.MishOp: 60,
    graph.PowOp: 50,
    graph.SinOp: 20,
    graph.CosOp: 20,
    graph.TanOp: 40,
    graph.AsinOp: 25,
    graph.AcosOp: 25,
    graph.AtanOp: 25,
    graph.SinhOp: 25,
    graph.CoshOp: 25,
    graph.AsinhOp: 45,
    graph.AcoshOp: 45,
    graph.AtanhOp: 45,
}
CHEAP_INSTRUCTIONS = 6  # up to here an element may be computed once per use


def instructions(op: Operation) -> int:
    """Return the instructions that one vector of results of an elementwise op takes."""
    return INSTRUCTIONS.get(type(op), 1)


def is_cheap(op: Operation) -> bool:
    """Return whether computing an element again costs less than it would to keep it."""
    return instructions(op) <= CHEAP_INSTRUCTIONS


def elements(value: SSAValue) -> int:
    """Return the number of elements of a tensor of known shape."""
    return prod(shape_of(value))


def tensor_bytes(value: SSAValue) -> int:
    """Return the bytes of a tensor of known shape."""
    return elements(value) * numpy_dtype(element_type(value)).itemsize


def is_static_tensor(value: SSAValue) -> bool:
    """Return whether a value is a tensor of known shape."""
    return isinstance(value.type, TensorType) and is_static(value)
