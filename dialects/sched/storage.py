"""Primitives on buffers and on the axes that they are indexed by."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from nn_opt.dialects.sched.primitives import LOOP, LoopType, parse_loop


@irdl_op_definition
class CacheReadOp(IRDLOperation):
    """Let a stage read its `operand`-th buffer through a copy, made by stage `<stage>.in<operand>`.

    The copy holds what the stage reads, values outside the buffer included: its padding.
    """

    name = "sched.cache_read"

    stage = prop_def(StringAttr)
    operand = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$stage `operand` $operand attr-dict"

    def __init__(self, stage: str, operand: int):
        super().__init__(
            properties={"stage": StringAttr(stage), "operand": IntegerAttr(operand, i64)}
        )


@irdl_op_definition
class SetScopeOp(IRDLOperation):
    """Keep the buffer that a stage writes in another memory space: shared, stack or register."""

    name = "sched.set_scope"

    stage = prop_def(StringAttr)
    space = prop_def(StringAttr)

    assembly_format = "$stage `in` $space attr-dict"

    def __init__(self, stage: str, space: str):
        super().__init__(properties={"stage": StringAttr(stage), "space": StringAttr(space)})


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """With each load of a stage's operand, ask for what lies `distance` elements further on."""

    name = "sched.prefetch"

    stage = prop_def(StringAttr)
    operand = prop_def(IntegerAttr.constr(i64))
    distance = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$stage `operand` $operand `ahead` $distance attr-dict"

    def __init__(self, stage: str, operand: int, distance: int):
        super().__init__(
            properties={
                "stage": StringAttr(stage),
                "operand": IntegerAttr(operand, i64),
                "distance": IntegerAttr(distance, i64),
            }
        )


@irdl_op_definition
class ReindexOp(IRDLOperation):
    """Let a stage read its `operand`-th buffer as a copy, made by stage `<stage>.in<operand>`.

    The copy's dimensions are the axes of the stage that the index depends on, in the given order:
    of x[2 * %q + %s], `by [1, 0]` makes copy[%s, %q].
    """

    name = "sched.reindex"

    stage = prop_def(StringAttr)
    operand = prop_def(IntegerAttr.constr(i64))
    axes = prop_def(DenseArrayBase.constr(i64))

    assembly_format = "$stage `operand` $operand `by` $axes attr-dict"

    def __init__(self, stage: str, operand: int, axes: Sequence[int]):
        super().__init__(
            properties={
                "stage": StringAttr(stage),
                "operand": IntegerAttr(operand, i64),
                "axes": DenseArrayBase.from_list(i64, list(axes)),
            }
        )


@irdl_op_definition
class PermuteOp(IRDLOperation):
    """Lay the buffer that a stage writes out in another order of its dimensions."""

    name = "sched.permute"

    stage = prop_def(StringAttr)
    order = prop_def(DenseArrayBase.constr(i64))

    assembly_format = "$stage `by` $order attr-dict"

    def __init__(self, stage: str, order: Sequence[int]):
        super().__init__(
            properties={
                "stage": StringAttr(stage),
                "order": DenseArrayBase.from_list(i64, list(order)),
            }
        )


@irdl_op_definition
class StorageAlignOp(IRDLOperation):
    """Give the rows of a stage's buffer k * `multiple` + `offset` elements.

    Of shared memory, so that a column's elements are not all in one bank.
    """

    name = "sched.storage_align"

    stage = prop_def(StringAttr)
    multiple = prop_def(IntegerAttr.constr(i64))
    offset = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$stage `to` $multiple `offset` $offset attr-dict"

    def __init__(self, stage: str, multiple: int, offset: int):
        super().__init__(
            properties={
                "stage": StringAttr(stage),
                "multiple": IntegerAttr(multiple, i64),
                "offset": IntegerAttr(offset, i64),
            }
        )


@irdl_op_definition
class DoubleBufferOp(IRDLOperation):
    """Let a stage fill its buffer for the next iteration of `loop`, while this one is read.

    The first is filled before the loop, by stage `<stage>.first`; the buffer has two places.
    """

    name = "sched.double_buffer"

    stage = prop_def(StringAttr)
    loop = operand_def(LOOP)

    assembly_format = "$stage `at` $loop attr-dict"

    def __init__(self, stage: str, loop: SSAValue):
        super().__init__(operands=[loop], properties={"stage": StringAttr(stage)})


@irdl_op_definition
class JoinOp(IRDLOperation):
    """One loop and one axis for those of several loops, each directly in the one before.

    The stage's own buffer gets one dimension for theirs; other indices become quotients and
    remainders. So a convolution is a matrix product: of filters, places and taps.
    """

    name = "sched.join"

    loops = var_operand_def(LoopType)
    joined = result_def(LOOP)

    def __init__(self, loops: Sequence[SSAValue]):
        super().__init__(operands=[loops], result_types=[LOOP])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.loops, printer.print_ssa_value)

    @classmethod
    def parse(cls, parser: Parser) -> JoinOp:
        loops = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_loop(parser))
        return cls(loops)


@irdl_op_definition
class PadOp(IRDLOperation):
    """Run a loop on to a multiple of `factor` iterations, of which the surplus ones do no harm.

    They compute what nobody reads, or add zeros; so a split by `factor` needs no test.
    """

    name = "sched.pad"

    loop = operand_def(LOOP)
    factor = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$loop `to` $factor attr-dict"

    def __init__(self, loop: SSAValue, factor: int):
        super().__init__(operands=[loop], properties={"factor": IntegerAttr(factor, i64)})
