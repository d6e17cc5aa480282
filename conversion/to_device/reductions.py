"""Reductions of a subgroup as shuffles: what PTX has for floats."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, i32
from xdsl.ir import Operation, SSAValue

from nn_opt.conversion.to_device.threads import LANES, butterflies
from nn_opt.dialects import gpu
from nn_opt.ir.locations import located

FLOATS: dict[gpu.Reduction, Callable[[SSAValue, SSAValue], Operation]] = {
    gpu.Reduction.Add: arith.AddfOp,
    gpu.Reduction.Mul: arith.MulfOp,
    gpu.Reduction.MinNumF: arith.MinnumfOp,
    gpu.Reduction.MaxNumF: arith.MaxnumfOp,
    gpu.Reduction.MinimumF: arith.MinimumfOp,
    gpu.Reduction.MaximumF: arith.MaximumfOp,
}
INTEGERS: dict[gpu.Reduction, Callable[[SSAValue, SSAValue], Operation]] = {
    gpu.Reduction.Add: arith.AddiOp,
    gpu.Reduction.Mul: arith.MuliOp,
    gpu.Reduction.MinUI: arith.MinUIOp,
    gpu.Reduction.MinSI: arith.MinSIOp,
    gpu.Reduction.MaxUI: arith.MaxUIOp,
    gpu.Reduction.MaxSI: arith.MaxSIOp,
    gpu.Reduction.And: arith.AndIOp,
    gpu.Reduction.Or: arith.OrIOp,
    gpu.Reduction.Xor: arith.XOrIOp,
}


def expand_reductions(kernel: gpu.FuncOp) -> None:
    """gpu.subgroup_reduce add %x  ->  %x + shuffle xor %x, 1; and so on for 2, 4, ..."""
    for op in [op for op in kernel.walk() if isinstance(op, gpu.SubgroupReduceOp)]:
        with located(op):
            _expand(op)


def _expand(op: gpu.SubgroupReduceOp) -> None:
    block = op.parent
    assert block is not None
    table = FLOATS if isinstance(op.value.type, AnyFloat) else INTEGERS
    width = arith.ConstantOp(IntegerAttr(LANES, i32))
    made: list[Operation] = [width]
    total: SSAValue = op.value
    for distance in butterflies(op.size or LANES, op.stride):
        offset = arith.ConstantOp(IntegerAttr(distance, i32))
        other = gpu.ShuffleOp("xor", total, offset.result, width.result)
        combined = table[op.op.data](total, other.result)
        made += [offset, other, combined]
        total = combined.results[0]
    block.insert_ops_before(made, op)
    op.result.replace_all_uses_with(total)
    op.detach()
    op.erase()
