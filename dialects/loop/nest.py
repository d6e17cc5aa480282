"""loop.for and loop.if: what runs how often, and in which way."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.affine_text import parse_index, print_index
from nn_opt.ir.diagnostics import complaint

BACKWARDS = "backwards"  # on a loop.for: from the last iteration to the first, which are free
JOIN = "nn.join"  # on a thread loop that fills a tree with parts (`fill`) or joins some (`join`)
NUMBER = "nn.number"  # on a call in @main: its row in a profile


class ForKind(StrEnum):
    """How the iterations of a loop run."""

    SERIAL = "serial"
    PARALLEL = "parallel"  # split over threads
    VECTOR = "vector"  # one lane each
    UNROLL = "unroll"  # expanded by the last conversion
    BLOCK_X = "block_x"  # one block of a GPU's grid each
    BLOCK_Y = "block_y"
    BLOCK_Z = "block_z"
    THREAD_X = "thread_x"  # one thread of a block each
    THREAD_Y = "thread_y"
    THREAD_Z = "thread_z"

    @property
    def is_block(self) -> bool:
        """Whether each iteration is a block of a grid."""
        return self.value.startswith("block_")

    @property
    def is_thread(self) -> bool:
        """Whether each iteration is a thread of a block."""
        return self.value.startswith("thread_")

    @property
    def is_bound(self) -> bool:
        """Whether each iteration is a block or a thread of a GPU."""
        return self.is_block or self.is_thread

    @property
    def dimension(self) -> int:
        """The dimension of the grid or block that a bound loop runs along: 0, 1 or 2."""
        return "xyz".index(self.value[-1])


def _taken(body: Region) -> str:
    return f"({', '.join(str(arg.type) for arg in body.block.args)})"


@lru_cache(maxsize=1024)
def _extent(trips: int) -> IntegerAttr[IndexType]:
    return IntegerAttr(trips, IndexType())


@irdl_op_definition
class ForOp(IRDLOperation):
    """Run the body for each %i = 0 .. extent-1. All loops start at 0 and have a known extent.

    With the attribute `backwards` the last iteration comes first; their order must not matter.
    """

    name = "loop.for"

    extent = prop_def(IntegerAttr[IndexType])
    kind = prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        extent: int,
        body: Region | Sequence[Operation] | None = None,
        *,
        kind: ForKind = ForKind.SERIAL,
        name_hint: str | None = None,
    ):
        if not isinstance(body, Region):
            block = Block(body or (), arg_types=[IndexType()])
            block.args[0].name_hint = name_hint
            body = Region(block)
        properties: dict[str, Attribute] = {
            "extent": _extent(extent),
            "kind": StringAttr(kind.value),
        }
        Operation.__init__(self, regions=[body], properties=properties)  # quicker than IRDL's own

    @property
    def index(self) -> BlockArgument:
        """The loop's variable."""
        return self.regions[0].block.args[0]

    @property
    def trips(self) -> int:
        """The number of iterations."""
        return self.extent.value.data

    @property
    def how(self) -> ForKind:
        """The loop's kind."""
        return ForKind(self.kind.data)

    @how.setter
    def how(self, kind: ForKind) -> None:
        self.kind = StringAttr(kind.value)

    def verify_(self) -> None:
        if self.kind.data not in list(ForKind):
            problem = f"kind is {self.kind.data!r}, expected one of {', '.join(ForKind)}"
            raise VerifyException(complaint(self, problem))
        if [arg.type for arg in self.body.block.args] != [IndexType()]:
            problem = f"body takes {_taken(self.body)}, expected (index)"
            raise VerifyException(complaint(self, problem))
        if self.trips < 0:
            problem = f"extent is {self.trips}, expected at least 0"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.index)
        printer.print_string(f" = 0 to {self.trips}")
        if self.how is not ForKind.SERIAL:
            printer.print_string(f" {self.kind.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        index = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        if (start := parser.parse_integer()) != 0:
            parser.raise_error(f"the loop starts at {start}, expected 0")
        parser.parse_keyword("to")
        extent = parser.parse_integer()
        kind = ForKind.SERIAL
        for word in ForKind:
            if parser.parse_optional_keyword(word.value):
                kind = word
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(extent, parser.parse_region([index.resolve(IndexType())]), kind=kind)
        op.attributes |= attributes.data if attributes else {}
        return op


@irdl_op_definition
class IfOp(IRDLOperation):
    """Run the body if every expression of `conditions` is >= 0."""

    name = "loop.if"

    indices = var_operand_def(IndexType)
    conditions = prop_def(AffineMapAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(self, conditions: AffineMap, indices: Sequence[SSAValue], body: Region):
        super().__init__(
            operands=[indices],
            regions=[body],
            properties={"conditions": AffineMapAttr(conditions)},
        )

    def verify_(self) -> None:
        conditions = self.conditions.data
        if conditions.num_dims != len(self.indices) or conditions.num_symbols:
            problem = f"map takes {conditions.num_dims} values, {len(self.indices)} are given"
            raise VerifyException(complaint(self, problem))
        if self.body.block.args:
            raise VerifyException(complaint(self, f"body takes {_taken(self.body)}, expected ()"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_conditions(printer, self.conditions.data, self.indices)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        conditions, indices = parse_conditions(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(conditions, indices, parser.parse_region())
        op.attributes |= attributes.data if attributes else {}
        return op


def print_conditions(printer: Printer, conditions: AffineMap, indices: Sequence[SSAValue]) -> None:
    """Print `(55 - %i >= 0, %j - 1 >= 0)`."""

    def print_condition(expr: AffineExpr) -> None:
        print_index(printer, expr, indices)
        printer.print_string(" >= 0")

    with printer.in_parens():
        printer.print_list(conditions.results, print_condition)


def parse_conditions(parser: Parser) -> tuple[AffineMap, list[SSAValue]]:
    """Parse what `print_conditions` prints."""
    parsed = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parse_condition(parser)
    )
    return gather(parsed)


def parse_condition(parser: Parser) -> tuple[AffineExpr, list[SSAValue]]:
    """Parse `55 - %i >= 0`."""
    result = parse_index(parser)
    parser.parse_punctuation(">")
    parser.parse_punctuation("=")
    if (bound := parser.parse_integer()) != 0:
        parser.raise_error(f"the condition compares with {bound}, expected 0")
    return result


def gather(
    parsed: Sequence[tuple[AffineExpr, list[SSAValue]]],
) -> tuple[AffineMap, list[SSAValue]]:
    """Put expressions over separate values into one map over all of them, each once."""
    indices: list[SSAValue] = []
    for _, values in parsed:
        indices += [value for value in dict.fromkeys(values) if value not in indices]
    results = [
        expr.replace_dims_and_symbols(
            [AffineExpr.dimension(indices.index(value)) for value in values], ()
        )
        for expr, values in parsed
    ]
    return AffineMap(len(indices), 0, tuple(results)), indices
