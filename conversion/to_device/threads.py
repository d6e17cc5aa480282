"""Ids, barriers and subgroups as LLVM's words for a device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, i32
from xdsl.ir import Operation, SSAValue

from nn_opt.conversion.to_device.devices import Device, no_rule, special
from nn_opt.conversion.to_llvm.addressing import element_pointer, evaluate_expr
from nn_opt.conversion.to_llvm.code import Code, Rule
from nn_opt.conversion.to_llvm.indices import Form
from nn_opt.conversion.to_llvm.intrinsics import intrinsic
from nn_opt.dialects import gpu
from nn_opt.dialects.llvm import AtomicRMWOp
from nn_opt.ir.affine import Range, flat_form
from nn_opt.ir.types import element_type, shape_of

ALL = -1  # the mask of all lanes
LANES = 32
ANY: Range = (-(1 << 62), 1 << 62)
NUMBERS = (gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp, gpu.GlobalIdOp)
# Of a shuffle: its word in PTX, and the lane at which a group of lanes ends it.
MODES = {
    gpu.ShuffleMode.Xor: ("bfly", 31),
    gpu.ShuffleMode.Down: ("down", 31),
    gpu.ShuffleMode.Up: ("up", 0),
    gpu.ShuffleMode.Idx: ("idx", 31),
}


def rules_for(device: Device, kernel: gpu.FuncOp) -> Mapping[type[Operation], Rule]:
    """Return how the ops of the gpu dialect become code of a device."""
    rules: dict[type[Operation], Rule] = {
        gpu.BarrierOp: partial(_lower_barrier, device),
        gpu.ReturnOp: _lower_return,
        gpu.AtomicOp: partial(_lower_atomic, device),
        **dict.fromkeys(NUMBERS, partial(_lower_number, device, kernel)),
    }
    if device.subgroups:
        rules |= {
            gpu.ShuffleOp: partial(_lower_shuffle, device),
            gpu.BallotOp: _lower_ballot,
            gpu.LaneIdOp: _lower_lane,
        }
    return rules


def _lower_number(device: Device, kernel: gpu.FuncOp, code: Code, op: gpu.Dimensional) -> None:
    """An id or a size; both are small, which spares tests of bounds."""
    if type(op) not in device.words:
        raise no_rule(op, device)
    value = device.number(code, op)
    atom = code.atom(value, _range(kernel, op), f"{op.name} {op.dimension.data.value}")
    code.indices[op.result] = Form(((atom, 1),), 0)


def _range(kernel: gpu.FuncOp, op: gpu.Dimensional) -> Range:
    """Return what an id or a size can be."""
    block, grid, axis = kernel.block, kernel.grid, op.axis
    most = 1 << 31
    match op:
        case gpu.ThreadIdOp() | gpu.BlockIdOp():
            sizes = block if isinstance(op, gpu.ThreadIdOp) else grid
            return (0, most if sizes is None else sizes[axis] - 1)
        case gpu.GlobalIdOp():
            return (0, most if block is None or grid is None else block[axis] * grid[axis] - 1)
        case _:
            sizes = block if isinstance(op, gpu.BlockDimOp) else grid
            return (1, most) if sizes is None else (sizes[axis], sizes[axis])


def _lower_barrier(device: Device, code: Code, op: gpu.BarrierOp) -> None:
    """Wait; what was loaded before may have changed."""
    device.barrier(code)
    for scope in code.scopes:
        scope.loads.clear()


def _lower_return(code: Code, op: gpu.ReturnOp) -> None:
    """gpu.return  ->  llvm.return"""
    code.act(code.make(llvm.ReturnOp, ()))


def _lower_atomic(device: Device, code: Code, op: gpu.AtomicOp) -> None:
    """atomicrmw, which orders nothing but its own place"""
    kind, buffer = device.atomics.get(op.kind.data), code.buffers.get(op.memref)
    if kind is None or buffer is None:
        raise no_rule(op, device)
    shape = shape_of(op.memref)
    place = flat_form(op.map.data.results, shape, [ANY] * len(op.indices)).expr()
    form = evaluate_expr(code, place, op.indices)
    pointer = element_pointer(code, buffer.pointer, element_type(op.memref), form)
    made = AtomicRMWOp(kind, pointer, code.value(op.value))
    made.location = op.location
    code.act(made)
    code.places[made.res] = (code.depth, True)
    code.bind(op.result, made.res)
    code.forget_loads(buffer.root)


def _lower_shuffle(device: Device, code: Code, op: gpu.ShuffleOp) -> None:
    """shfl.sync, for values of 32 bits"""
    type_ = op.value.type
    if op.valid.uses or (type_ != i32 and not isinstance(type_, Float32Type)):
        raise no_rule(op, device)
    word, end = MODES[op.mode.data]
    suffix = "i32" if type_ == i32 else "f32"
    name = f"llvm.nvvm.shfl.sync.{word}.{suffix}"
    offset = code.value(op.offset)
    operands = [code.number(ALL, i32), code.value(op.value), offset, _clamp(code, op.width, end)]
    code.bind(op.result, intrinsic(code, name, operands, type_))


def _clamp(code: Code, width: SSAValue, end: int) -> SSAValue:
    """Return (32 - width) << 8 | end: how PTX is told the groups of lanes."""
    rest = code.share(llvm.SubOp, (code.number(LANES, i32), code.value(width)), i32)
    shifted = code.share(llvm.ShlOp, (rest, code.number(8, i32)), i32)
    return code.share(llvm.OrOp, (shifted, code.number(end, i32)), i32)


def _lower_ballot(code: Code, op: gpu.BallotOp) -> None:
    """vote.ballot.sync"""
    operands = [code.number(ALL, i32), code.value(op.predicate)]
    value = intrinsic(code, "llvm.nvvm.vote.ballot.sync", operands, i32)
    if op.result.type != i32:
        value = code.share(llvm.ZExtOp, (value,), op.result.type)
    code.bind(op.result, value)


def _lower_lane(code: Code, op: gpu.LaneIdOp) -> None:
    """The register %laneid"""
    value = special(code, "llvm.nvvm.read.ptx.sreg.laneid")
    wide = code.share(llvm.ZExtOp, (value,), code.index)
    atom = code.atom(wide, (0, LANES - 1), op.name)
    code.indices[op.result] = Form(((atom, 1),), 0)


def butterflies(size: int, stride: int) -> list[int]:
    """Return the distances at which lanes are combined, so that all have the total."""
    return [stride << step for step in range(int(math.log2(size)))]
