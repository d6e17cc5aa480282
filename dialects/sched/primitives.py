"""The script op and one op a primitive; handles are values of type `!sched.loop`.

A handle that a primitive replaces (split, tile, fuse) is dead: the verifier refuses a later use.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolRefAttr, i64
from xdsl.ir import Block, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint, locate


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """A handle on one loop."""

    name = "sched.loop"


LOOP = LoopType()
REPLACING = ("sched.split", "sched.tile", "sched.fuse", "sched.join")  # kill their operands
TAILS = ("guard", "exact")  # what becomes of the iterations that a factor leaves over


@irdl_op_definition
class ScriptOp(IRDLOperation):
    """The schedule of one kernel: primitives, applied in order by `--apply-schedule`."""

    name = "sched.script"

    kernel = prop_def(SymbolRefAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    assembly_format = "`for` $kernel attr-dict-with-keyword $body"

    def __init__(self, kernel: str):
        super().__init__(regions=[Region(Block())], properties={"kernel": SymbolRefAttr(kernel)})

    def verify_(self) -> None:
        dead: dict[SSAValue, Operation] = {}
        for op in self.body.block.ops:
            for handle in op.operands:
                if handle in dead:
                    killer = dead[handle]
                    problem = f"uses a loop that {killer.name} at {locate(killer)} replaced"
                    raise VerifyException(
                        complaint(op, problem, hint="use the handles that it returned")
                    )
            if op.name in REPLACING:
                dead.update(dict.fromkeys(op.operands, op))


@irdl_op_definition
class AxesOp(IRDLOperation):
    """The loops around a stage, outermost first."""

    name = "sched.axes"

    stage = prop_def(StringAttr)
    loops = var_result_def(LoopType)

    def __init__(self, stage: str, count: int):
        super().__init__(properties={"stage": StringAttr(stage)}, result_types=[[LOOP] * count])

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {len(self.loops)} of ")
        printer.print_string_literal(self.stage.data)

    @classmethod
    def parse(cls, parser: Parser) -> AxesOp:
        count = parser.parse_integer()
        parser.parse_keyword("of")
        return cls(parser.parse_str_literal(), count)


@irdl_op_definition
class SplitOp(IRDLOperation):
    """%outer, %inner with inner of `factor` iterations.

    A factor that does not divide: `tail guard` skips the surplus iterations (`--partition-loops`
    later peels them off), `tail exact` refuses.
    """

    name = "sched.split"

    loop = operand_def(LOOP)
    factor = prop_def(IntegerAttr.constr(i64))
    tail = prop_def(StringAttr)
    outer = result_def(LOOP)
    inner = result_def(LOOP)

    def __init__(self, loop: SSAValue, factor: int, tail: str = "guard"):
        super().__init__(
            operands=[loop],
            properties={"factor": IntegerAttr(factor, i64), "tail": StringAttr(tail)},
            result_types=[LOOP, LOOP],
        )

    def verify_(self) -> None:
        if self.tail.data not in TAILS:
            problem = f"tail is {self.tail.data!r}, expected one of {', '.join(TAILS)}"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.loop)
        printer.print_string(f" by {self.factor.value.data}")
        if self.tail.data != "guard":
            printer.print_string(f" tail {self.tail.data}")

    @classmethod
    def parse(cls, parser: Parser) -> SplitOp:
        loop = parse_loop(parser)
        parser.parse_keyword("by")
        factor = parser.parse_integer()
        tail = parser.parse_identifier() if parser.parse_optional_keyword("tail") else "guard"
        return cls(loop, factor, tail)


@irdl_op_definition
class TileOp(IRDLOperation):
    """%xo, %yo, %xi, %yi: both loops split, the inner ones moved inside."""

    name = "sched.tile"

    x = operand_def(LOOP)
    y = operand_def(LOOP)
    x_factor = prop_def(IntegerAttr.constr(i64))
    y_factor = prop_def(IntegerAttr.constr(i64))
    loops = var_result_def(LoopType)

    def __init__(self, x: SSAValue, y: SSAValue, x_factor: int, y_factor: int):
        super().__init__(
            operands=[x, y],
            properties={
                "x_factor": IntegerAttr(x_factor, i64),
                "y_factor": IntegerAttr(y_factor, i64),
            },
            result_types=[[LOOP] * 4],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(f" by {self.x_factor.value.data}, {self.y_factor.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> TileOp:
        x = parse_loop(parser)
        parser.parse_punctuation(",")
        y = parse_loop(parser)
        parser.parse_keyword("by")
        x_factor = parser.parse_integer()
        parser.parse_punctuation(",")
        return cls(x, y, x_factor, parser.parse_integer())


@irdl_op_definition
class FuseOp(IRDLOperation):
    """One loop over all iterations of two loops, one directly inside the other."""

    name = "sched.fuse"

    outer = operand_def(LOOP)
    inner = operand_def(LOOP)
    fused = result_def(LOOP)

    assembly_format = "$outer `,` $inner attr-dict"

    def __init__(self, outer: SSAValue, inner: SSAValue):
        super().__init__(operands=[outer, inner], result_types=[LOOP])


@irdl_op_definition
class ReorderOp(IRDLOperation):
    """The given loops of one perfect nest, in the given order, at the places they take up."""

    name = "sched.reorder"

    loops = var_operand_def(LoopType)

    def __init__(self, loops: Sequence[SSAValue]):
        super().__init__(operands=[loops])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.loops, printer.print_ssa_value)

    @classmethod
    def parse(cls, parser: Parser) -> ReorderOp:
        loops = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_loop(parser))
        return cls(loops)


class _Annotation(IRDLOperation, ABC):
    loop = operand_def(LOOP)

    assembly_format = "$loop attr-dict"

    def __init__(self, loop: SSAValue):
        super().__init__(operands=[loop])


@irdl_op_definition
class UnrollOp(_Annotation):
    """Expand the loop in the last conversion."""

    name = "sched.unroll"


@irdl_op_definition
class FissionOp(_Annotation):
    """Give each statement in the loop's body a loop of its own."""

    name = "sched.fission"


@irdl_op_definition
class VectorizeOp(_Annotation):
    """Turn the loop's iterations into lanes of a vector."""

    name = "sched.vectorize"


@irdl_op_definition
class ParallelOp(_Annotation):
    """Split the loop's iterations over threads."""

    name = "sched.parallel"


@irdl_op_definition
class BindOp(IRDLOperation):
    """Give each iteration a block of a GPU's grid (`block_x`) or a thread of one (`thread_x`)."""

    name = "sched.bind"

    loop = operand_def(LOOP)
    kind = prop_def(StringAttr)

    assembly_format = "$loop `to` $kind attr-dict"

    def __init__(self, loop: SSAValue, kind: str):
        super().__init__(operands=[loop], properties={"kind": StringAttr(kind)})


@irdl_op_definition
class TensorizeOp(IRDLOperation):
    """Run the loop, with all that is in it, as an instruction that the compiler knows by name."""

    name = "sched.tensorize"

    loop = operand_def(LOOP)
    intrinsic = prop_def(StringAttr)

    assembly_format = "$loop `as` $intrinsic attr-dict"

    def __init__(self, loop: SSAValue, intrinsic: str):
        super().__init__(operands=[loop], properties={"intrinsic": StringAttr(intrinsic)})


class _Move(IRDLOperation, ABC):
    stage = prop_def(StringAttr)
    loop = operand_def(LOOP)

    assembly_format = "$stage `at` $loop attr-dict"

    def __init__(self, stage: str, loop: SSAValue):
        super().__init__(operands=[loop], properties={"stage": StringAttr(stage)})


@irdl_op_definition
class ComputeAtOp(_Move):
    """Compute what the body of `loop` reads of a stage at the start of that body.

    Stages behind the loop may read it too, if all iterations together make what they read.
    """

    name = "sched.compute_at"


@irdl_op_definition
class ReverseComputeAtOp(_Move):
    """Run a stage, on what the body of `loop` produced for it, at the end of that body.

    If the body produces nothing for it, the stage takes what another in the body reads with it.
    """

    name = "sched.reverse_compute_at"


@irdl_op_definition
class DecomposeInitOp(_Move):
    """Make the start of a reduction a stage of its own, `<stage>.init`, just before `loop`."""

    name = "sched.decompose_init"


@irdl_op_definition
class RfactorOp(_Move):
    """Let each iteration of a reduce loop accumulate by itself.

    A new stage, `<stage>.parts` or, if there is one, `<stage>.parts2`, does so, with `loop` as a
    par axis; the old stage combines the parts.
    """

    name = "sched.rfactor"


class _Stage(IRDLOperation, ABC):
    stage = prop_def(StringAttr)

    assembly_format = "$stage attr-dict"

    def __init__(self, stage: str):
        super().__init__(properties={"stage": StringAttr(stage)})


@irdl_op_definition
class InlineOp(_Stage):
    """Put a stage's formula where it is read."""

    name = "sched.inline"


@irdl_op_definition
class CacheWriteOp(_Stage):
    """Let a stage write a buffer of its own, and a new stage `<stage>.copy` write the old one."""

    name = "sched.cache_write"


def parse_loop(parser: Parser) -> SSAValue:
    """Parse the handle of a loop."""
    return parser.resolve_operand(parser.parse_unresolved_operand(), LOOP)
