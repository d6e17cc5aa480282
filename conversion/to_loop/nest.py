"""One tensor.compute as a perfect loop nest around one loop.block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from nn_opt.dialects import loop, tensor
from nn_opt.ir.literals import scalar_attr, scalar_value
from nn_opt.ir.types import element_type

Combine = Callable[[SSAValue, SSAValue], Operation]
Number = FloatAttr | IntegerAttr

FLOAT_COMBINE: dict[str, Combine] = {
    "add": arith.AddfOp,
    "mul": arith.MulfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
}
INTEGER_COMBINE: dict[str, Combine] = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}


@dataclass(frozen=True)
class Nest:
    """Turns a compute into loops that write `targets`, one buffer a result."""

    compute: tensor.ComputeOp
    stage: str
    targets: Sequence[SSAValue]
    buffers: Mapping[SSAValue, SSAValue]
    scalars: Mapping[SSAValue, Number]

    def build(self) -> Operation:
        """Return the outermost op; takes the compute's body, so the compute is dead after it."""
        compute, rank = self.compute, self.compute.rank
        sizes = compute.axis_sizes
        hints = [axis.name_hint for axis in compute.axes]
        init = self.init()
        if init is not None and 0 in sizes[rank:]:  # nothing to combine: the identity alone
            body, init, sizes, hints = init, None, sizes[:rank], hints[:rank]
        else:
            body = self.body()
        block = loop.BlockOp(
            self.stage, (), AffineMap(0, 0, ()), sizes, self.kinds()[: len(sizes)], body, init
        )
        block.attributes |= compute.attributes
        return nest_around(block, sizes, hints)

    def kinds(self) -> list[loop.Kind]:
        """Return the kind of each axis; the order of an `ordered` reduction is kept."""
        compute = self.compute
        ordered = compute.order is not None and compute.order.data == "ordered"
        reduce = loop.Kind.SEQ if ordered else loop.Kind.REDUCE
        count = len(compute.axis_sizes) - compute.rank
        return [loop.Kind.PAR] * compute.rank + [reduce] * count

    def body(self) -> Region:
        """Return the compute's own body, its reads made loads and its yields made stores."""
        body = Region(self.compute.body.detach_block(0))
        for op in list(body.block.walk()):
            if isinstance(op, tensor.ReadOp):
                self.convert_read(op)
        last = body.block.last_op
        assert isinstance(last, tensor.YieldOp), "a verified compute ends in tensor.yield"
        yielded = list(last.operands)
        last.detach()
        last.drop_all_references()
        places = body.block.args[: self.compute.rank]
        if self.compute.combiner is not None:
            yielded = self.accumulate(body.block, places, yielded)
        self.store(body.block, places, yielded)
        return body

    def convert_read(self, read: tensor.ReadOp) -> None:
        """tensor.read %x[i]  ->  loop.load %x[i], or the value itself of a one-element constant"""
        block = read.parent
        assert block is not None
        new: Operation
        if read.source in self.scalars and read.default is None:
            new = arith.ConstantOp(self.scalars[read.source])
        else:
            properties: dict[str, Attribute] = {"map": read.map}
            if read.default is not None:
                properties["default"] = read.default
            new = loop.LoadOp.create(
                operands=[self.buffers[read.source], *read.indices],
                result_types=[read.result.type],
                properties=properties,
            )
        new.location = read.location
        block.insert_op_before(new, read)
        new.results[0].name_hint = read.result.name_hint
        read.result.replace_all_uses_with(new.results[0])
        read.detach()
        read.drop_all_references()

    def accumulate(
        self, block: Block, places: Sequence[SSAValue], values: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Combine the body's values with what the buffers hold; return the new accumulators."""
        loads = [loop.LoadOp(target, places) for target in self.targets]
        block.add_ops(loads)
        held = [load.result for load in loads]
        if self.compute.combine is not None:
            return inline(self.compute.combine.block, [*held, *values], block)
        once = [value for value in values if values.count(value) == 1]
        return [
            self.combine(block, old, new, may_fuse=new in once)
            for old, new in zip(held, values, strict=True)
        ]

    def combine(self, block: Block, old: SSAValue, new: SSAValue, *, may_fuse: bool) -> SSAValue:
        """Return old combined with new; the sum of a product that nothing else reads is an fma."""
        assert self.compute.combiner is not None
        word, product = self.compute.combiner.data, new.owner
        fuse = may_fuse and word == "add"
        if fuse and isinstance(product, arith.MulfOp) and is_fusable(product):
            op: Operation = math.FmaOp(product.lhs, product.rhs, old)
            product.detach()
            product.drop_all_references()
        else:
            table = FLOAT_COMBINE if isinstance(old.type, AnyFloat) else INTEGER_COMBINE
            op = table[word](old, new)
        block.add_op(op)
        return op.results[0]

    def store(self, block: Block, places: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        """Store one value to each target at the `par` axes."""
        if self.compute.stacked:
            self.store_stacked(block, places, values)
            return
        for value, target in zip(values, self.targets, strict=True):
            block.add_op(loop.StoreOp(value, target, places))

    def store_stacked(
        self, block: Block, places: Sequence[SSAValue], values: Sequence[SSAValue]
    ) -> None:
        """Store all values to the one target, each as soon as it is there: few are alive then."""
        axes = [AffineExpr.dimension(axis) for axis in range(len(places))]
        for at, value in zip(np.ndindex(self.compute.stacked), values, strict=True):
            exprs = [*map(AffineExpr.constant, at), *axes]
            store = loop.StoreOp(value, self.targets[0], places, exprs)
            if isinstance(value.owner, Operation):
                block.insert_op_after(store, value.owner)
            else:
                block.add_op(store)

    def init(self) -> Region | None:
        """Return the region that stores where a reduction starts; None without a reduction."""
        compute = self.compute
        if compute.combiner is None:
            return None
        sizes = compute.axis_sizes
        empty = 0 in sizes[compute.rank :]
        block = tensor.ComputeOp.body_block(compute.rank if empty else len(sizes))
        for argument, axis in zip(block.args, compute.axes, strict=False):
            argument.name_hint = axis.name_hint
        constants = [arith.ConstantOp(start) for start in self.starts()]
        block.add_ops(constants)
        places = block.args[: compute.rank]
        self.store(block, places, [constant.result for constant in constants])
        return Region(block)

    def starts(self) -> list[Number]:
        """Return the value of each accumulator before the first combination."""
        compute = self.compute
        elements = [element_type(result) for result in compute.result]
        if compute.init is not None:
            values = [scalar_value(attr) for attr in compute.init]
        else:
            assert compute.combiner is not None
            values = [tensor.identity_of(compute.combiner.data, element) for element in elements]
        return [
            scalar_attr(value, element) for value, element in zip(values, elements, strict=True)
        ]


def is_fusable(product: arith.MulfOp) -> bool:
    """Return whether nothing in the body reads the product and machines have an fma of its type."""
    wide = isinstance(product.result.type, Float32Type | Float64Type)
    return wide and product.result.first_use is None


def nest_around(
    block: loop.BlockOp, sizes: Sequence[int], hints: Sequence[str | None]
) -> Operation:
    """Bind the block's axes to new serial loops, one to one; return the outermost op."""
    loops = [loop.ForOp(size, name_hint=hint) for size, hint in zip(sizes, hints, strict=True)]
    block.operands = [nest.index for nest in loops]
    block.properties["bindings"] = AffineMapAttr(AffineMap.identity(len(loops)))
    block.properties["conditions"] = AffineMapAttr(AffineMap(len(loops), 0, ()))
    inner: Operation = block
    for nest in reversed(loops):
        nest.body.block.add_op(inner)
        inner = nest
    return inner


def inline(source: Block, arguments: Sequence[SSAValue], target: Block) -> list[SSAValue]:
    """Move the ops of `source` to the end of `target`; return what its terminator yields."""
    for old, new in zip(source.args, arguments, strict=True):
        old.replace_all_uses_with(new)
    last = source.last_op
    assert last is not None
    yielded = list(last.operands)
    last.detach()
    last.drop_all_references()
    for op in list(source.ops):
        op.detach()
        target.add_op(op)
    return yielded
