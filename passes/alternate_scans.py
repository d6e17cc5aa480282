"""alternate-scans: every other step of a recurrence goes through its weights backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.affine import compact, linear
from nn_opt.ir.functions import main_function
from nn_opt.ir.target import Target, target_of
from nn_opt.schedule.nest import blocks_in, kinds_bound


@dataclass(frozen=True)
class AlternateScansPass(ModulePass):
    """for %t = 0 to 64 { @k(%w) }  ->  for %t = 0 to 32 { @k(%w); @k_back(%w) }

    if what a step reads of constants is more than half of the second cache: the end of them is
    still there when the next step begins with it. @k_back runs its outermost loops backwards.
    A state of the first of two steps stays where it was computed: the second reads it there.

    Needs: loop, scheduled, with blocks. Keeps: loop. Order: after apply-schedule, before
    lower-blocks.
    """

    name = "alternate-scans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_function(op)
        if main is None:
            return
        scans = [step for step in main.walk() if isinstance(step, loop.ForOp)]
        chosen = [scan for scan in scans if streams_weights(scan, target_of(op))]
        if chosen:
            number_calls(main)
        copies = Copies(op)
        for scan in chosen:
            alternate(scan, copies)


def streams_weights(scan: loop.ForOp, target: Target) -> bool:
    """Return whether each step reads more constants than half of the second cache."""
    ops = list(scan.body.block.ops)
    if scan.trips < 2 or any(isinstance(op, loop.ForOp) for op in ops):
        return False
    read = {value for op in ops if isinstance(op, func.CallOp) for value in weights_of(op)}
    return sum(byte_size(value) for value in read) > target.l2_bytes // 2


def weights_of(call: func.CallOp) -> list[SSAValue]:
    """Return the constants that a call reads."""
    return [value for value in call.arguments if isinstance(value.owner, loop.ConstantOp)]


def number_calls(main: func.FuncOp) -> None:
    """Let each call know which row of a profile it is, also where it is doubled."""
    calls = [op for op in main.walk() if isinstance(op, func.CallOp)]
    for number, call in enumerate(calls):
        call.attributes[loop.NUMBER] = IntegerAttr(number, i64)


@dataclass
class Copies:
    """The kernels that run backwards, by the names of those that do not."""

    module: ModuleOp
    names: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, name: str) -> str:
        """Return the name of a kernel that does the same backwards; itself if none can."""
        if name not in self.names:
            kernel = SymbolTable.lookup_symbol(self.module, name)
            self.names[name] = name
            if isinstance(kernel, func.FuncOp) and (copy := backwards(kernel)) is not None:
                self.names[name] = copy.sym_name.data
                self.module.body.block.insert_op_after(copy, kernel)
        return self.names[name]


def backwards(kernel: func.FuncOp) -> func.FuncOp | None:
    """Return a copy whose outermost loops run backwards; None if an order must stay."""
    copy = kernel.clone()
    copy.sym_name = StringAttr(f"{kernel.sym_name.data}_back")
    nests = [outermost(op) for op in copy.body.block.ops if isinstance(op, loop.ForOp)]
    found = [nest for nest in nests if nest is not None]
    if len(found) != len(nests) or not found:
        return None
    for nest in found:
        nest.attributes[loop.BACKWARDS] = UnitAttr()
    return copy


def outermost(nest: loop.ForOp) -> loop.ForOp | None:
    """Return the first loop of a nest that runs more than once, if its order is free."""
    while nest.trips == 1:
        inner = list(nest.body.block.ops)
        if len(inner) != 1 or not isinstance(inner[0], loop.ForOp):
            return None
        nest = inner[0]
    free = all(kinds_bound(nest, block) == {loop.Kind.PAR} for block in blocks_in(nest))
    return nest if free else None


def alternate(scan: loop.ForOp, copies: Copies) -> None:
    """Make each iteration two steps, the second backwards; an odd last step follows the loop."""
    steps = list(scan.body.block.ops)
    time, trips = scan.index, scan.trips
    single: list[Operation] = []
    if trips % 2:
        single = repeated(steps, time, AffineExpr.constant(trips - 1))
    twice = AffineExpr.dimension(0) * 2
    second = repeated(steps, time, twice + 1)
    for op in steps:
        replace_time(op, time, twice)
    scan.body.block.add_ops(second)
    scan.extent = loop.ForOp(trips // 2).extent
    block = scan.parent
    assert block is not None
    block.insert_ops_after(single, scan)
    for op in second:
        if isinstance(op, func.CallOp) and weights_of(op):
            name = copies.of(op.callee.string_value())
            op.callee = func.CallOp(name, [], []).callee
    forward_copies(steps, second)


def repeated(steps: Sequence[Operation], time: SSAValue, step: AffineExpr) -> list[Operation]:
    """Return a copy of a step's ops at another time."""
    mapping: dict[SSAValue, SSAValue] = {}
    made: list[Operation] = []
    for op in steps:
        copy = op.clone(mapping)
        copy.location = op.location
        replace_time(copy, time, step)
        made.append(copy)
    return made


def replace_time(op: Operation, time: SSAValue, step: AffineExpr) -> None:
    """Let an op that counts from `time` count from a function of it."""
    if not isinstance(op, loop.ViewOp) or time not in op.indices:
        return
    values = list(op.indices)
    dims = [AffineExpr.dimension(k) for k in range(len(values))]
    place = values.index(time)
    dims[place] = step.replace_dims_and_symbols([dims[place]], ())
    moved = linear(op.start.replace_dims_and_symbols(dims, ())).expr()
    used, (start,) = compact([moved], values)
    op.offset = AffineMapAttr(AffineMap(len(used), 0, (start,)))
    op.operands = [op.source, *used]


def forward_copies(first: Sequence[Operation], second: Sequence[Operation]) -> None:
    """copy %new to %state; use(%state); copy .. to %state  ->  use(%new); copy .. to %state"""
    overwritten = {op.target for op in second if isinstance(op, loop.CopyOp)}
    inside = {result for op in first for result in op.results}
    for copy in [op for op in first if isinstance(op, loop.CopyOp)]:
        if copy.target not in overwritten or copy.source not in inside:
            continue
        for use in list(copy.target.uses):
            op = use.operation
            reads = not isinstance(op, loop.CopyOp) or use.index == 0
            if op in second and reads:
                op.operands[use.index] = copy.source
        copy.detach()
        copy.erase()
