"""gpu -> llvm: kernels as functions for PTX or SPIR-V; their host stays as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i8,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.loop_to_llvm import RULES
from nn_opt.conversion.to_device.alignment import align_vectors
from nn_opt.conversion.to_device.devices import DEVICES, Device, no_rule, require_on
from nn_opt.conversion.to_device.reductions import expand_reductions
from nn_opt.conversion.to_device.spaces import place_pointers
from nn_opt.conversion.to_device.threads import rules_for
from nn_opt.conversion.to_llvm.code import Buffer, Code, Rule
from nn_opt.conversion.to_llvm.functions import EXTERNAL
from nn_opt.conversion.to_llvm.symbols import address_of, function, stack
from nn_opt.conversion.to_llvm.unit import Unit
from nn_opt.dialects import gpu, loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.locations import located
from nn_opt.ir.target import Target
from nn_opt.ir.types import memory_space

TARGETS = {
    "ptx": Target("ptx", "nvptx64-nvidia-cuda", "sm_75", "+ptx75", 16, 64),
    "spirv": Target("spirv", "spirv64-unknown-unknown", "", "", 16, 64),
}


@dataclass(frozen=True)
class ConvertGpuToLlvmPass(ModulePass):
    """gpu.func @f(%x: memref) kernel  ->  llvm.func ptx_kernelcc @f(%x: !llvm.ptr<1>)

    Kernels become functions of LLVM for `device`, which is ptx or spirv, with global memory,
    shared memory and constants in address spaces of their own; ids, barriers and what a subgroup
    does are PTX's registers and instructions, or functions of OpenCL C.

    Needs: gpu, loop without blocks and functions in kernels. Leaves: llvm in gpu.modules; the host
    is not changed. Order: after insert-barriers and expand-math.
    """

    name: ClassVar[str] = "convert-gpu-to-llvm"  # pyright: ignore[reportIncompatibleVariableOverride]
    device: str = "ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.device not in DEVICES:
            problem = f"no device is called {self.device!r}, expected {' or '.join(DEVICES)}"
            raise PassFailedException(complaint(op, problem))
        device = DEVICES[self.device]
        for module in [inner for inner in op.ops if isinstance(inner, gpu.ModuleOp)]:
            Conversion(device, Unit(target=TARGETS[self.device])).convert(module)


CONVERGENT = "convergent"  # of a function: may be called by all threads of a group alone


@dataclass
class Conversion:
    """One module of kernels on its way to LLVM."""

    device: Device
    unit: Unit

    def convert(self, module: gpu.ModuleOp) -> None:
        """Replace the kernels by functions and globals of LLVM."""
        for kernel in module.functions:
            self.unit.functions.append(self.lower(kernel))
            kernel.detach()
            kernel.erase()
        with located(module):
            made = [self.declared(name, type_) for name, type_ in self.unit.declared.items()]
        module.body.block.add_ops([*made, *self.unit.globals, *self.unit.functions])

    def declared(self, name: str, type_: llvm.LLVMFunctionType) -> Operation:
        """Return the declaration of a function that the device knows."""
        made = llvm.FuncOp(name, type_, EXTERNAL)
        made.attributes["passthrough"] = ArrayAttr([StringAttr(CONVERGENT)])
        return made

    def lower(self, kernel: gpu.FuncOp) -> llvm.FuncOp:
        """Return the function of a kernel."""
        expand_reductions(kernel)
        unit, name = self.unit, kernel.sym_name.data
        unit.function = name
        unit.note_writes(kernel)
        inputs = kernel.function_type.inputs.data
        arguments = [unit.type_of(type_) for type_ in inputs]
        code = Code(unit, self.rules(kernel), arguments, False, kernel.location)
        for old, new in zip(kernel.arguments, code.current.block.args, strict=True):
            new.name_hint = old.name_hint
            if isinstance(old.type, MemRefType):
                code.buffers[old] = Buffer(new, "an argument")  # a launch may pass one twice
            else:
                code.bind(old, new)
        for buffer in kernel.workgroup:
            code.buffers[buffer] = Buffer(self.shared(code, kernel, buffer, "shared"), buffer)
        code.lower(kernel.body.block)
        return self.function(kernel, function(name, arguments, code.finish(), False, EXTERNAL))

    def function(self, kernel: gpu.FuncOp, made: llvm.FuncOp) -> llvm.FuncOp:
        """Return the function as a kernel, its pointers in their address spaces."""
        made.properties["CConv"] = llvm.CallingConventionAttr(self.device.convention)
        made.location = kernel.location
        if gpu.NODES in kernel.attributes:
            made.attributes[gpu.NODES] = kernel.attributes[gpu.NODES]
        if kernel.block is not None and self.device.subgroups:
            size = ",".join(map(str, kernel.block))
            pair = ArrayAttr([StringAttr("nvvm.reqntid"), StringAttr(size)])
            made.attributes["passthrough"] = ArrayAttr([pair])
        spaces: dict[str, int] = {}
        for variable in self.unit.globals:
            assert isinstance(variable, llvm.GlobalOp)
            if variable.constant is not None:
                variable.addr_space = IntegerAttr(self.device.constant, i32)
            spaces[variable.sym_name.data] = variable.addr_space.value.data
        place_pointers(made, self.device.everywhere, spaces)
        align_vectors(made)
        return made

    def rules(self, kernel: gpu.FuncOp) -> dict[type[Operation], Rule]:
        """Return how each op of a kernel becomes code."""
        rules: dict[type[Operation], Rule] = {**RULES, **rules_for(self.device, kernel)}
        for op in kernel.walk():
            if op is not kernel and type(op) not in rules:
                raise no_rule(op, self.device)
            require_on(self.device, op)

        def allocate(code: Code, op: loop.AllocOp) -> None:
            if memory_space(op.result) == gpu.SHARED:
                pointer = self.shared(code, op, op.result, op.buffer.data)
            else:  # LLVM finds what of it are variables
                pointer = stack(code, max(1, byte_size(op.result)))
            code.buffers[op.result] = Buffer(pointer, op.result)

        return {**rules, loop.AllocOp: allocate}

    def shared(self, code: Code, op: Operation, memref: SSAValue, name: str) -> SSAValue:
        """Return the pointer to a buffer that each block has one of."""
        symbol = self.unit.fresh(re.sub(r"\W", "_", f"{self.unit.function}_{name}"))
        type_ = llvm.LLVMArrayType(byte_size(memref), i8)
        with located(op):
            self.unit.globals.append(
                llvm.GlobalOp(
                    type_,
                    symbol,
                    "internal",
                    addr_space=self.device.shared,
                    alignment=gpu.ALIGNMENT,
                )
            )
        return address_of(code, symbol)
