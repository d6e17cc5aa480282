"""Kernels as PTX or SPIR-V, which LLVM makes of them."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.llvm.object import emit_assembly
from nn_opt.backends.llvm.printer import print_module
from nn_opt.conversion.gpu_to_llvm import TARGETS, ConvertGpuToLlvmPass
from nn_opt.dialects import gpu
from nn_opt.ir.diagnostics import complaint
from nn_opt.passes.expand_math import ExpandMathPass

PASSES = 2  # LLVM's level: it makes variables of a thread's tiles


def device_code(module: ModuleOp, device: str) -> str:
    """Return the kernels of a module as the assembly of `ptx` or `spirv`.

    Raises: PassFailedException for a module without kernels, or an op that the device has not.
    """
    return emit_assembly(device_text(module, device), TARGETS[device], PASSES)


def device_text(module: ModuleOp, device: str) -> str:
    """Return the kernels of a module as LLVM IR for a device.

    Functions such as exp become polynomials, for no device has them.
    """
    lowered = module.clone()
    context = Context(allow_unregistered=True)
    ExpandMathPass().apply(context, lowered)
    ConvertGpuToLlvmPass(device).apply(context, lowered)
    modules = [op for op in lowered.ops if isinstance(op, gpu.ModuleOp)]
    if not modules:
        hint = "run --lower-to-gpu first"
        raise PassFailedException(complaint(module, "has no kernels", hint=hint))
    kernels = ModuleOp([])
    for inner in modules:
        for op in [*inner.body.block.ops]:
            op.detach()
            kernels.body.block.add_op(op)
    return print_module(kernels)
