"""loop.block: one stage's work inside its loops, with what a schedule must know of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    StringAttr,
    i64,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.loop.nest import gather, parse_conditions, print_conditions
from nn_opt.ir.affine_text import parse_index, print_index
from nn_opt.ir.diagnostics import complaint


class Kind(StrEnum):
    """What the order of an axis means."""

    PAR = "par"  # iterations are independent
    REDUCE = "reduce"  # iterations are combined; order free if the reduction is `fast`
    SEQ = "seq"  # iterations run in order


@irdl_op_definition
class BlockOp(IRDLOperation):
    """One instance of a stage: its axes are bound to affine functions of the loops around it.

    `%f = 16 * %i + %j : par 64` says that axis %f, of size 64, takes that value here. `where`
    conditions (each >= 0) skip instances, such as those beyond a tail. The body loads and stores
    at the axes; `init` runs before the body where every reduce axis is 0.
    Either region sees the axes only, never the loop variables.
    """

    name = "loop.block"

    indices = var_operand_def(IndexType)
    stage = prop_def(StringAttr)
    bindings = prop_def(AffineMapAttr)
    sizes = prop_def(DenseArrayBase.constr(i64))
    kinds = prop_def(ArrayAttr[StringAttr])
    conditions = prop_def(AffineMapAttr)
    body = region_def("single_block")
    init = opt_region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        stage: str,
        indices: Sequence[SSAValue],
        bindings: AffineMap,
        sizes: Sequence[int],
        kinds: Sequence[Kind],
        body: Region,
        init: Region | None = None,
        *,
        conditions: AffineMap | None = None,
    ):
        super().__init__(
            operands=[indices],
            regions=[body, [init] if init is not None else []],
            properties={
                "stage": StringAttr(stage),
                "bindings": AffineMapAttr(bindings),
                "sizes": DenseArrayBase.from_list(i64, list(sizes)),
                "kinds": ArrayAttr([StringAttr(kind.value) for kind in kinds]),
                "conditions": AffineMapAttr(conditions or AffineMap(len(indices), 0, ())),
            },
        )

    @property
    def axes(self) -> Sequence[SSAValue]:
        """The axes as the body sees them."""
        return self.body.block.args

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """The size of each axis."""
        return tuple(int(size) for size in self.sizes.iter_values())

    @property
    def axis_kinds(self) -> tuple[Kind, ...]:
        """The kind of each axis."""
        return tuple(Kind(kind.data) for kind in self.kinds)

    @property
    def regions_of_work(self) -> list[Block]:
        """The body, and the init where there is one."""
        return [region.block for region in (self.body, self.init) if region is not None]

    def verify_(self) -> None:
        count = len(self.sizes)
        if not len(self.bindings.data.results) == len(self.kinds) == count:
            numbers = f"{len(self.bindings.data.results)} bindings and {len(self.kinds)} kinds"
            problem = f"has {numbers}, expected {count} of both: one an axis"
            raise VerifyException(complaint(self, problem))
        for access in (self.bindings.data, self.conditions.data):
            if access.num_dims != len(self.indices) or access.num_symbols:
                problem = f"map takes {access.num_dims} values, {len(self.indices)} are given"
                raise VerifyException(complaint(self, problem))
        for block in self.regions_of_work:
            if [arg.type for arg in block.args] != [IndexType()] * count:
                types = ", ".join(str(arg.type) for arg in block.args)
                problem = f"a region takes ({types}), expected an index an axis: {count}"
                raise VerifyException(complaint(self, problem))
        unknown = {kind.data for kind in self.kinds} - {kind.value for kind in Kind}
        if unknown:
            problem = f"kind is {min(unknown)!r}, expected one of {', '.join(Kind)}"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.stage.data)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(range(len(self.sizes)), lambda axis: self._print_axis(printer, axis))
        if self.conditions.data.results:
            printer.print_string(" where ")
            print_conditions(printer, self.conditions.data, self.indices)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        if self.init is not None:
            printer.print_string(" init ")
            self._share_names(printer, self.init)
            printer.print_region(self.init, print_entry_block_args=False)

    def _share_names(self, printer: Printer, init: Region) -> None:
        """Let the axes have one name in both regions, so that `init` need not declare them."""
        names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
        names.update(
            (twin, names[axis]) for axis, twin in zip(self.axes, init.block.args, strict=True)
        )

    def _print_axis(self, printer: Printer, axis: int) -> None:
        printer.print_ssa_value(self.axes[axis])
        printer.print_string(" = ")
        print_index(printer, self.bindings.data.results[axis], self.indices)
        printer.print_string(f" : {self.kinds.data[axis].data} {self.axis_sizes[axis]}")

    @classmethod
    def parse(cls, parser: Parser) -> BlockOp:
        stage = parser.parse_str_literal()
        axes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _Axis(parser))
        where = parser.parse_optional_keyword("where")
        conditions, used = parse_conditions(parser) if where else (AffineMap(0, 0, ()), [])
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([axis.argument.resolve(IndexType()) for axis in axes])
        init = None
        if parser.parse_optional_keyword("init"):
            init = parser.parse_region([axis.argument.resolve(IndexType()) for axis in axes])
        all_conditions = [(expr, used) for expr in conditions.results]
        every, indices = gather([*[axis.binding for axis in axes], *all_conditions])
        count = len(axes)
        op = cls(
            stage,
            indices,
            AffineMap(len(indices), 0, every.results[:count]),
            [axis.size for axis in axes],
            [axis.kind for axis in axes],
            body,
            init,
            conditions=AffineMap(len(indices), 0, every.results[count:]),
        )
        op.attributes |= attributes.data if attributes else {}
        return op


class _Axis:
    """One axis of a block as it is parsed: `%f = 16 * %i : par 64`."""

    def __init__(self, parser: Parser):
        self.argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        self.binding: tuple[AffineExpr, list[SSAValue]] = parse_index(parser)
        parser.parse_punctuation(":")
        word = parser.parse_identifier()
        if word not in list(Kind):
            parser.raise_error(f"kind is {word!r}, expected one of {', '.join(Kind)}")
        self.kind = Kind(word)
        self.size = parser.parse_integer()
