"""Calls of LLVM intrinsics, and what loads and stores say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from nn_opt.conversion.to_llvm.code import Code
from nn_opt.ir.memory import remembered
from nn_opt.ir.types import element_type, numpy_dtype

EXACT = llvm.FastMathAttr(None)
NO_BUNDLES = DenseArrayBase.from_list(i32, [])


@remembered
def alignment(element: Attribute) -> IntegerAttr[IntegerType]:
    """Return the alignment that every element of a buffer has."""
    return IntegerAttr(numpy_dtype(element).itemsize, i64)


@remembered
def load_properties(wanted: Attribute) -> dict[str, Attribute]:
    return {"alignment": alignment(element_type(wanted)), "ordering": IntegerAttr(0, i64)}


def intrinsic(
    code: Code, name: str, operands: Sequence[SSAValue], type_: Attribute, fast: Attribute = EXACT
) -> SSAValue:
    """Return the result of a call of an LLVM intrinsic, without its type suffix."""
    return code.emit(llvm.CallIntrinsicOp, operands, type_, _call(name, len(operands), fast))


def intrinsic_action(code: Code, name: str, operands: Sequence[SSAValue]) -> None:
    """Call an LLVM intrinsic for its effect."""
    properties = _call(name, len(operands), EXACT)
    code.act(code.make(llvm.CallIntrinsicOp, operands, (), properties))


def call_properties(name: str, count: int) -> dict[str, Attribute]:
    """Return what a call of an intrinsic with so many operands says of itself."""
    return _exact_call(name, count)


@lru_cache(maxsize=256)
def _exact_call(name: str, count: int) -> dict[str, Attribute]:
    return {
        "intrin": StringAttr(name),
        "fastmathFlags": EXACT,
        "op_bundle_sizes": NO_BUNDLES,
        "operandSegmentSizes": DenseArrayBase.from_list(i32, [count, 0]),
    }


def _call(name: str, count: int, fast: Attribute) -> dict[str, Attribute]:
    exact = _exact_call(name, count)
    return exact if fast is EXACT else {**exact, "fastmathFlags": fast}
