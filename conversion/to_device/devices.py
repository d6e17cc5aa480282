"""What kinds of devices LLVM makes code for, and how each says what the gpu dialect does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BFloat16Type, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.intrinsics import call_properties, intrinsic_action
from nn_opt.conversion.to_llvm.libm import FUNCTIONS
from nn_opt.conversion.to_llvm.symbols import call
from nn_opt.dialects import gpu
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type

Number = Callable[[Code, gpu.Dimensional], SSAValue]


@dataclass(frozen=True)
class Device:
    """A kind of device: how kernels are called, address spaces, and words for what threads do.

    everywhere, shared, constant: the numbers of address spaces.
    words: what tells the ids and sizes of each kind of op.
    """

    name: str
    convention: str
    everywhere: int
    shared: int
    constant: int
    words: Mapping[type[Operation], str]
    number: Number
    barrier: Callable[[Code], None]
    atomics: Mapping[gpu.AtomicKind, str]
    subgroups: bool = False
    lacks: type[Attribute] | None = None  # a type of elements


def _register(code: Code, op: gpu.Dimensional) -> SSAValue:
    """Return a special register of PTX, which has 32 bits, as an index."""
    name = f"llvm.nvvm.read.ptx.sreg.{PTX.words[type(op)]}.{op.dimension.data.value}"
    value = special(code, name)
    return code.share(llvm.ZExtOp, (value,), code.index)


def special(code: Code, name: str) -> SSAValue:
    """Return what an intrinsic without operands says of the thread."""
    return code.share(llvm.CallIntrinsicOp, (), i32, call_properties(name, 0), name)


def _builtin(code: Code, op: gpu.Dimensional) -> SSAValue:
    """Return what a function of OpenCL C says, under the name that C++ compilers give it."""
    name = f"_Z{len(SPIRV.words[type(op)])}{SPIRV.words[type(op)]}j"
    code.unit.declare(name, [i32], i64)
    return shared_call(code, name, [code.number(op.axis, i32)], i64)


def shared_call(code: Code, name: str, arguments: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    """Return the result of a function that gives a thread the same each time."""
    model = llvm.CallOp(name, *arguments, return_type=type_)
    properties = {**model.properties}
    model.erase()
    return code.share(llvm.CallOp, tuple(arguments), type_, properties, name)


def _ptx_barrier(code: Code) -> None:
    name = "llvm.nvvm.barrier.cta.sync.aligned.all"
    intrinsic_action(code, name, [code.number(0, i32)])


FENCES = 3  # CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE


def _opencl_barrier(code: Code) -> None:
    code.unit.declare("_Z7barrierj", [i32], None)
    call(code, "_Z7barrierj", [code.number(FENCES, i32)])


INTEGER_ATOMICS = {
    gpu.AtomicKind.AddI: "add",
    gpu.AtomicKind.Assign: "xchg",
    gpu.AtomicKind.MaxS: "max",
    gpu.AtomicKind.MaxU: "umax",
    gpu.AtomicKind.MinS: "min",
    gpu.AtomicKind.MinU: "umin",
    gpu.AtomicKind.AndI: "_and",
    gpu.AtomicKind.OrI: "_or",
    gpu.AtomicKind.XorI: "_xor",
}
FLOAT_ATOMICS = {
    gpu.AtomicKind.AddF: "fadd",
    gpu.AtomicKind.MaxNumF: "fmax",
    gpu.AtomicKind.MinNumF: "fmin",
}

PTX = Device(
    "ptx",
    "ptx_kernelcc",
    everywhere=1,
    shared=3,
    constant=4,
    words={
        gpu.ThreadIdOp: "tid",
        gpu.BlockIdOp: "ctaid",
        gpu.BlockDimOp: "ntid",
        gpu.GridDimOp: "nctaid",
    },
    number=_register,
    barrier=_ptx_barrier,
    atomics={**INTEGER_ATOMICS, **FLOAT_ATOMICS},
    subgroups=True,
)
SPIRV = Device(
    "spirv",
    "spir_kernelcc",
    everywhere=1,
    shared=3,
    constant=2,
    words={
        gpu.ThreadIdOp: "get_local_id",
        gpu.BlockIdOp: "get_group_id",
        gpu.BlockDimOp: "get_local_size",
        gpu.GridDimOp: "get_num_groups",
        gpu.GlobalIdOp: "get_global_id",
    },
    number=_builtin,
    barrier=_opencl_barrier,
    atomics=INTEGER_ATOMICS,
    lacks=BFloat16Type,
)
DEVICES = {device.name: device for device in (PTX, SPIRV)}


def require_on(device: Device, op: Operation) -> None:
    """Refuse a function or an element type that a device lacks.

    Functions of f16, bf16 and f32 are polynomials by now; what is left is of f64.
    Raises: PassFailedException.
    """
    types = [element_type(value.type) for value in (*op.operands, *op.results)]
    if type(op) in FUNCTIONS:
        problem = f"{device.name} has no function {FUNCTIONS[type(op)]} of {types[0]}"
    elif device.lacks is not None and any(isinstance(type_, device.lacks) for type_ in types):
        problem = f"{device.name} has no type bf16"
    else:
        return
    hint = "print the kernels as CUDA or OpenCL, which have it"
    raise PassFailedException(complaint(op, problem, hint=hint))


def no_rule(op: Operation, device: Device) -> PassFailedException:
    """Return the complaint about an op that a device has no code for."""
    problem = f"--convert-gpu-to-llvm has no rule for this operation on {device.name}"
    hint = "print the kernels as text instead: --emit=cuda or --emit=opencl"
    return PassFailedException(complaint(op, problem, hint=hint))
