"""tensor.compute: one formula for every element of a tensor, and what its body reads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from nn_opt.ir.affine_text import parse_indices, print_indices
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import Scalar, parse_scalar, print_scalar, scalar_attr
from nn_opt.ir.types import element_type, shape_of

COMBINERS = ("add", "mul", "max", "min", "and", "or", "custom")
ORDERS = ("fast", "ordered")


def identity_of(combiner: str, element: Attribute) -> Scalar:
    """Return the value that a reduction starts from: 0, 1, or the type's least or greatest."""
    if combiner in ("add", "or"):
        return 0
    if combiner == "mul":
        return 1
    if combiner == "and":
        return -1
    sign = -1 if combiner == "max" else 1
    if isinstance(element, AnyFloat):
        return sign * math.inf
    assert isa(element, IntegerType)
    magnitude = 1 << (element.width.data - 1)  # integers are signed below the graph
    return -magnitude if combiner == "max" else magnitude - 1


@irdl_op_definition
class ComputeOp(IRDLOperation):
    """Every element of the results as a formula of its indices.

    The first axes (`par`) are the results' dimensions; the body yields one element a result.
    With `reduce`, the body's values over the remaining axes are combined: `fast` lets a schedule
    reassociate, `ordered` keeps the order of the axes as written. `custom` takes the region
    `combine`, a function (accumulators, values) -> accumulators, and `init`, where it starts.
    With `stack [a, b]`, the one result has leading dimensions a, b more than there are axes, and
    the body yields all a * b elements that differ only in them, in row-major order.
    """

    name = "tensor.compute"

    stage = prop_def(StringAttr)
    sizes = prop_def(DenseArrayBase.constr(i64))
    combiner = opt_prop_def(StringAttr)
    order = opt_prop_def(StringAttr)
    init = opt_prop_def(ArrayAttr)
    stack = opt_prop_def(DenseArrayBase.constr(i64))

    body = region_def("single_block")
    combine = opt_region_def()
    result = var_result_def(TensorType)

    traits = traits_def(Pure(), SingleBlockImplicitTerminator(YieldOp))

    def __init__(
        self,
        stage: str,
        body: Region,
        result_types: Sequence[Attribute],
        *,
        reduce_sizes: Sequence[int] = (),
        combiner: str | None = None,
        order: str = "fast",
        combine: Region | None = None,
        init: Sequence[Scalar] = (),
        stack: Sequence[int] = (),
    ):
        sizes = [*shape_of(result_types[0])[len(stack) :], *reduce_sizes]
        super().__init__(
            regions=[body, [combine] if combine else []],
            result_types=[result_types],
            properties={
                "stage": StringAttr(stage),
                "sizes": DenseArrayBase.from_list(i64, sizes),
                "combiner": StringAttr(combiner) if combiner else None,
                "order": StringAttr(order) if combiner else None,
                "init": _init_attr(init, result_types) if combine else None,
                "stack": DenseArrayBase.from_list(i64, list(stack)) if stack else None,
            },
        )

    @staticmethod
    def body_block(rank: int) -> Block:
        """Return an empty block with one index argument for each of `rank` axes."""
        return Block(arg_types=[IndexType()] * rank)

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """The sizes of all axes, `par` first."""
        return tuple(int(size) for size in self.sizes.iter_values())

    @property
    def rank(self) -> int:
        """The number of `par` axes."""
        return len(shape_of(self.result[0])) - len(self.stacked)

    @property
    def stacked(self) -> tuple[int, ...]:
        """The leading dimensions of the result that the body yields at once; mostly none."""
        return () if self.stack is None else tuple(map(int, self.stack.iter_values()))

    @property
    def axes(self) -> Sequence[SSAValue]:
        """The indices of all axes, `par` first."""
        return self.body.block.args

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """The elements that the body yields."""
        last = self.body.block.last_op
        assert last is not None
        return last.operands

    def verify_(self) -> None:
        for problem in self.problems():
            raise VerifyException(complaint(self, problem, hint="see docs/dialects.md"))

    def problems(self) -> list[str]:
        """Return what is wrong with this op, in words."""
        if not self.result:
            return ["has no result, expected one at least"]
        found = self.shape_problems()
        rank, sizes = self.rank, self.axis_sizes
        if len(self.axes) != len(sizes):
            found.append(f"body has {len(self.axes)} indices for {len(sizes)} axes")
        if any(not isinstance(axis.type, IndexType) for axis in self.axes):
            found.append(f"body takes {_types([a.type for a in self.axes])}, expected indices")
        if min(sizes, default=0) < 0:
            found.append(f"axes have {list(sizes)}, expected sizes of at least 0")
        if (len(sizes) > rank) != (self.combiner is not None):
            found.append("a reduction needs both a combiner and reduce axes")
        if self.combiner is not None and self.combiner.data not in COMBINERS:
            known = ", ".join(COMBINERS)
            found.append(f"combiner is {self.combiner.data!r}, expected one of {known}")
        if self.order is not None and self.order.data not in ORDERS:
            found.append(f"order is {self.order.data!r}, expected one of {', '.join(ORDERS)}")
        return found + self.yield_problems() + self.combine_problems()

    def shape_problems(self) -> list[str]:
        expected = self.axis_sizes[: self.rank]
        found = [
            f"result is {result.type}, but its axes have {list(expected)}"
            for result in self.result
            if shape_of(result) != (*self.stacked, *expected)
        ]
        if self.stack is not None and (len(self.result) > 1 or self.combiner is not None):
            found.append("only a compute of one result and without `reduce` can stack")
        return found

    def combine_problems(self) -> list[str]:
        custom = self.combiner is not None and self.combiner.data == "custom"
        if custom != (self.combine is not None) or custom != (self.init is not None):
            return ["the combiner `custom`, and no other, takes `init` and `combine`"]
        if self.combine is None or self.init is None:
            return []
        wanted = [element_type(result) for result in self.result]
        if len(self.init) != len(wanted):
            return [f"init has {len(self.init)} values for {len(wanted)} results"]
        actual = [argument.type for argument in self.combine.block.args]
        if actual != wanted * 2:
            return [f"combine takes {_types(actual)}, expected {_types(wanted * 2)}"]
        terminator = self.combine.block.last_op
        if not isinstance(terminator, YieldOp) or [*terminator.operand_types] != wanted:
            return [f"combine does not yield {_types(wanted)}"]
        return []

    def yield_problems(self) -> list[str]:
        wanted = [element_type(result) for result in self.result] * math.prod(self.stacked)
        terminator = self.body.block.last_op
        assert isinstance(terminator, YieldOp), "its trait asks for a tensor.yield"
        actual = [value.type for value in terminator.operands]
        if actual == wanted:
            return []
        return [
            f"body yields {', '.join(map(str, actual))}, expected {', '.join(map(str, wanted))}"
        ]

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.stage.data)
        printer.print_string(" ")
        axes = list(zip(self.axes, self.axis_sizes, strict=True))
        _print_axes(printer, axes[: self.rank])
        if self.combiner is not None and self.order is not None:
            printer.print_string(f" reduce {self.order.data} {self.combiner.data} ")
            _print_axes(printer, axes[self.rank :])
        if self.init is not None:
            printer.print_string(" init ")
            with printer.in_parens():
                printer.print_list(self.init.data, lambda value: print_scalar(printer, value))
        if self.stacked:
            printer.print_string(f" stack {list(self.stacked)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_list(self.result, lambda value: printer.print_attribute(value.type))
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        if self.combine is not None:
            printer.print_string(" combine ")
            printer.print_region(self.combine)

    @classmethod
    def parse(cls, parser: Parser) -> ComputeOp:
        stage = parser.parse_str_literal()
        axes = _parse_axes(parser)
        combiner = order = None
        if parser.parse_optional_keyword("reduce"):
            order = parser.parse_identifier()
            combiner = parser.parse_identifier()
            axes += _parse_axes(parser)
        init = _parse_init(parser)
        stack = _parse_stack(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        body = parser.parse_region([axis.resolve(IndexType()) for axis, _ in axes])
        combine = parser.parse_region() if parser.parse_optional_keyword("combine") else None
        op = cls.create(
            regions=[body] if combine is None else [body, combine],
            result_types=types,
            properties={
                "stage": StringAttr(stage),
                "sizes": DenseArrayBase.from_list(i64, [size for _, size in axes]),
                **({"combiner": StringAttr(combiner)} if combiner else {}),
                **({"order": StringAttr(order)} if order else {}),
                **({"init": _init_attr(init, types)} if init is not None else {}),
                **({"stack": DenseArrayBase.from_list(i64, stack)} if stack else {}),
            },
        )
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def _init_attr(values: Sequence[Scalar], types: Sequence[Attribute]) -> ArrayAttr[Attribute]:
    elements = [element_type(type_) for type_ in types]
    elements += elements[-1:] * (len(values) - len(elements))  # too many: for the verifier to say
    return ArrayAttr(map(scalar_attr, values, elements))


def _parse_init(parser: Parser) -> list[Scalar] | None:
    if not parser.parse_optional_keyword("init"):
        return None
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_scalar(parser))


def _parse_stack(parser: Parser) -> list[int]:
    if not parser.parse_optional_keyword("stack"):
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def _print_axes(printer: Printer, axes: Sequence[tuple[SSAValue, int]]) -> None:
    def print_axis(axis: tuple[SSAValue, int]) -> None:
        printer.print_ssa_value(axis[0])
        printer.print_string(f": {axis[1]}")

    with printer.in_parens():
        printer.print_list(axes, print_axis)


def _parse_axes(parser: Parser) -> list[tuple[Parser.UnresolvedArgument, int]]:
    def parse_axis() -> tuple[Parser.UnresolvedArgument, int]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation(":")
        return argument, parser.parse_integer()

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_axis)


@irdl_op_definition
class ReadOp(IRDLOperation):
    """One element of a tensor, at affine indices; `or v` is the value outside the bounds.

    A data-dependent index is an SSA value of type `index` made in the body.
    """

    name = "tensor.read"

    source = operand_def(TensorType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    default = opt_prop_def(Attribute)
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        map: AffineMap | Sequence[AffineExpr] | None = None,
        default: Scalar | None = None,
    ):
        if map is None:
            map = AffineMap.identity(len(indices))
        elif not isinstance(map, AffineMap):
            map = AffineMap(len(indices), 0, tuple(map))
        element = element_type(source)
        super().__init__(
            operands=[source, indices],
            result_types=[element],
            properties={
                "map": AffineMapAttr(map),
                "default": None if default is None else scalar_attr(default, element),
            },
        )

    def verify_(self) -> None:
        access = self.map.data
        rank = len(shape_of(self.source))
        if len(access.results) != rank:
            problem = f"has {len(access.results)} indices for a tensor of rank {rank}"
            raise VerifyException(complaint(self, problem, hint="give one index a dimension"))
        if access.num_dims != len(self.indices) or access.num_symbols:
            problem = f"map takes {access.num_dims} dimensions, {len(self.indices)} values given"
            raise VerifyException(complaint(self, problem, hint="give one value a dimension"))
        element = element_type(self.source)
        if self.result.type != element:
            problem = f"reads {self.result.type} from a tensor of {element}"
            raise VerifyException(complaint(self, problem, hint="cast what is read"))
        if self.default is not None and not _is_number_of(self.default, element):
            problem = f"default is {self.default}, expected a number of {element}"
            raise VerifyException(complaint(self, problem, hint="write `or 0.0` or `or 0`"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_indices(printer, self.map.data, self.indices)
        if self.default is not None:
            printer.print_string(" or ")
            print_scalar(printer, self.default)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    @classmethod
    def parse(cls, parser: Parser) -> ReadOp:
        source = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        default = parse_scalar(parser) if parser.parse_optional_keyword("or") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        op = cls(parser.resolve_operand(source, type_), indices, map.data, default)
        op.attributes |= attributes
        return op


def _is_number_of(attr: Attribute, element: Attribute) -> bool:
    return isa(attr, FloatAttr | IntegerAttr) and attr.type == element
