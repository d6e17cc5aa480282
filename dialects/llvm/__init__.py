"""llvm: what LLVM's own IR says; upstream's dialect with the instructions that it lacks.

A superset of xDSL's dialect of the same name, loaded in its place.
"""

from xdsl.dialects.llvm import LLVM as UPSTREAM
from xdsl.dialects.llvm import LLVM_CALLING_CONVS
from xdsl.ir import Dialect

from nn_opt.dialects.llvm.address import FLAGS, GEPOp
from nn_opt.dialects.llvm.atomic import AtomicRMWOp
from nn_opt.dialects.llvm.ops import (
    ExtractElementOp,
    FCmpOp,
    FPToSIOp,
    FPToUIOp,
    PoisonOp,
    SelectOp,
    UIToFPOp,
    bool_like,
)

__all__ = [
    "FLAGS",
    "LLVM",
    "AtomicRMWOp",
    "ExtractElementOp",
    "FCmpOp",
    "FPToSIOp",
    "FPToUIOp",
    "GEPOp",
    "PoisonOp",
    "SelectOp",
    "UIToFPOp",
    "bool_like",
]

LLVM_CALLING_CONVS.update(("ptx_kernelcc", "spir_kernelcc"))  # which kernels of devices have

OURS = [
    AtomicRMWOp,
    ExtractElementOp,
    PoisonOp,
    UIToFPOp,
    FPToSIOp,
    FPToUIOp,
    FCmpOp,
    SelectOp,
    GEPOp,
]
_NAMES = {op.name for op in OURS}

LLVM = Dialect(
    "llvm",
    [*(op for op in UPSTREAM.operations if op.name not in _NAMES), *OURS],
    [*UPSTREAM.attributes],
)
