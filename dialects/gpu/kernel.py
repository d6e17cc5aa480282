"""The device's part of a program: modules of kernels, with what one block of each may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    I32,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.gpu.attributes import (
    ATTRIBUTIONS,
    LIMITS,
    NODES,
    LimitsAttr,
    drop_no_buffers,
    nodes_attr,
    nodes_of,
)
from nn_opt.dialects.gpu.limits import Demand, shared_allocs, shared_bytes
from nn_opt.ir.diagnostics import Complaints, complaint
from nn_opt.ir.target import Gpu

_SIZES = ("known_block_size", "known_grid_size")
_HIDDEN = ("sym_name", "gpu.kernel", ATTRIBUTIONS)


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """Kernels and what they call, for one device; `gpu.limits` says what that has."""

    name = "gpu.module"

    body = region_def("single_block")
    sym_name = prop_def(SymbolNameConstraint())

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    def __init__(self, name: str, body: Region | None = None, limits: Gpu | None = None):
        super().__init__(
            regions=[body or Region(Block())],
            properties={"sym_name": StringAttr(name)},
            attributes={} if limits is None else {LIMITS: LimitsAttr(limits)},
        )

    @property
    def limits(self) -> Gpu | None:
        """What the device has, if that is said."""
        attribute = self.attributes.get(LIMITS)
        return attribute.data if isinstance(attribute, LimitsAttr) else None

    @property
    def functions(self) -> Sequence[FuncOp]:
        """The functions, in order."""
        return [op for op in self.body.block.ops if isinstance(op, FuncOp)]

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ModuleOp:
        name = parser.parse_symbol_name().data
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name, parser.parse_region())
        if not op.body.blocks:
            op.body.add_block(Block())
        op.attributes |= attributes.data if attributes else {}
        return op


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function of the device; a `kernel` is launched from the host, for every thread.

    `known_block_size` and `known_grid_size` are the numbers of threads and of blocks, x, y, z.
    `workgroup(%t : memref<..>)` and `private(..)` name buffers of a block and of a thread.
    """

    name = "gpu.func"

    body = region_def()
    sym_name = attr_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    kernel = opt_attr_def(UnitAttr, attr_name="gpu.kernel")
    known_block_size = opt_prop_def(DenseArrayBase.constr(i32))
    known_grid_size = opt_prop_def(DenseArrayBase.constr(i32))
    workgroup_attributions = opt_attr_def(IntegerAttr.constr(i64))

    traits = traits_def(IsolatedFromAbove(), HasParent(ModuleOp), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        inputs: Sequence[Attribute],
        body: Region | None = None,
        *,
        kernel: bool = True,
        block: Sequence[int] | None = None,
        grid: Sequence[int] | None = None,
        nodes: Sequence[str] = (),
        outputs: Sequence[Attribute] = (),
    ):
        attributes: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        if kernel:
            attributes["gpu.kernel"] = UnitAttr()
        if nodes:
            attributes[NODES] = nodes_attr(nodes)
        super().__init__(
            regions=[body or Region(Block(arg_types=inputs))],
            attributes=attributes,
            properties={
                "function_type": FunctionType.from_lists(inputs, outputs),
                "known_block_size": _sizes(block),
                "known_grid_size": _sizes(grid),
            },
        )

    def __post_init__(self) -> None:
        drop_no_buffers(self)
        super().__post_init__()

    @property
    def arguments(self) -> Sequence[BlockArgument]:
        """What a launch passes."""
        return self.body.block.args[: len(self.function_type.inputs)]

    @property
    def workgroup(self) -> Sequence[BlockArgument]:
        """The buffers that each block has one of."""
        start = len(self.function_type.inputs)
        return self.body.block.args[start : start + self._shared]

    @property
    def private(self) -> Sequence[BlockArgument]:
        """The buffers that each thread has one of."""
        return self.body.block.args[len(self.function_type.inputs) + self._shared :]

    @property
    def _shared(self) -> int:
        count = self.workgroup_attributions
        return 0 if count is None else count.value.data

    @property
    def block(self) -> tuple[int, int, int] | None:
        """The number of threads of a block in each dimension, if it is known."""
        return _triple(self.known_block_size)

    @property
    def grid(self) -> tuple[int, int, int] | None:
        """The number of blocks in each dimension, if it is known."""
        return _triple(self.known_grid_size)

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes of the model that the kernel computes."""
        return nodes_of(self)

    def verify_(self) -> None:
        inputs = self.function_type.inputs.data
        given = tuple(argument.type for argument in self.arguments)
        if given != inputs:
            problem = f"body takes ({_listed(given)}), expected ({_listed(inputs)})"
            raise VerifyException(complaint(self, problem))
        if self.kernel is not None and self.function_type.outputs.data:
            problem = f"a kernel returns {_listed(self.function_type.outputs.data)}"
            raise VerifyException(complaint(self, problem, hint="let it store into a buffer"))
        for name in _SIZES:
            self._verify_sizes(name)
        module = self.parent_op()
        limits = module.limits if isinstance(module, ModuleOp) else None
        if limits is not None and self.kernel is not None:
            problems = list(self.demand.problems(limits))
            if problems:
                raise VerifyException(Complaints(problems))

    @property
    def demand(self) -> Demand:
        """What a launch takes of the device."""
        return Demand(self, self.block, self.grid, self.arguments, self.workgroup)

    @property
    def shared_bytes(self) -> int:
        """The bytes of shared memory that a block takes."""
        allocs = [alloc.result for alloc in shared_allocs(self)]
        return shared_bytes([*self.workgroup, *allocs])

    def _verify_sizes(self, name: str) -> None:
        sizes = self.properties.get(name)
        if sizes is None:
            return
        numbers = _numbers(sizes)
        if len(numbers) != 3 or min(numbers) < 1:
            problem = f"{name} is {numbers}, expected three numbers of at least 1"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_block_argument)
        if outputs := self.function_type.outputs.data:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(outputs, printer.print_attribute)
        for word, buffers in (("workgroup", self.workgroup), ("private", self.private)):
            if buffers:
                printer.print_string(f" {word}")
                with printer.in_parens():
                    printer.print_list(buffers, printer.print_block_argument)
        if self.kernel is not None:
            printer.print_string(" kernel")
        sizes = {name: self.properties[name] for name in _SIZES if name in self.properties}
        shown = {key: value for key, value in self.attributes.items() if key not in _HIDDEN}
        printer.print_op_attributes({**sizes, **shown}, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name = parser.parse_symbol_name().data
        inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        outputs = _parse_outputs(parser)
        workgroup = _parse_buffers(parser, "workgroup")
        private = _parse_buffers(parser, "private")
        kernel = parser.parse_optional_keyword("kernel") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([*inputs, *workgroup, *private])
        types = [argument.type for argument in inputs]
        op = cls(name, types, body, kernel=kernel, outputs=outputs)
        if workgroup:
            op.attributes[ATTRIBUTIONS] = IntegerAttr(len(workgroup), i64)
        for key, value in attributes.data.items() if attributes else ():
            (op.properties if key in _SIZES else op.attributes)[key] = value
        return op


def _sizes(numbers: Sequence[int] | None) -> Attribute | None:
    return None if numbers is None else DenseArrayBase.from_list(i32, list(numbers))


def _numbers(sizes: Attribute) -> list[int]:
    return [int(size) for size in cast("DenseArrayBase[I32]", sizes).iter_values()]


def _triple(sizes: Attribute | None) -> tuple[int, int, int] | None:
    if sizes is None:
        return None
    x, y, z = _numbers(sizes)
    return x, y, z


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


def _parse_outputs(parser: Parser) -> list[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else [*several]


def _parse_buffers(parser: Parser, word: str) -> list[Parser.Argument]:
    """Parse `workgroup(%t : memref<8xf32>)`, or nothing."""
    if parser.parse_optional_keyword(word) is None:
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The end of a function of the device."""

    name = "gpu.return"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), HasParent(FuncOp))

    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])
