"""gpu.launch_func: the host has a kernel run by every thread of a grid."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    SymbolRefAttr,
    i32,
    i64,
)
from xdsl.dialects.gpu import AsyncTokenType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyOf,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, SymbolTable
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.gpu.attributes import NODES, nodes_attr, nodes_of
from nn_opt.dialects.gpu.kernel import FuncOp
from nn_opt.ir.diagnostics import Complaints, complaint, diagnose, note_at

_Size = AnyOf.get(IndexType, i32, i64)
Triple = Sequence[SSAValue]


def constant_sizes(sizes: Triple) -> tuple[int, int, int] | None:
    """Return the numbers of a triple if all are constants."""
    numbers: list[int] = []
    for size in sizes:
        owner = size.owner
        if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
            return None
        numbers.append(owner.value.value.data)
    return numbers[0], numbers[1], numbers[2]


@irdl_op_definition
class LaunchFuncOp(IRDLOperation):
    """Run a kernel: so many blocks of so many threads, in each dimension; wait for the end.

    `gpu.launch_func @kernels::@f blocks in (%gx, %gy, %gz) threads in (%bx, %by, %bz)
    args(%x : memref<4xf32>)`. With `async` it returns a token instead of waiting.
    """

    name = "gpu.launch_func"

    asyncDependencies = var_operand_def(AsyncTokenType)
    gridSizeX = operand_def(_Size)
    gridSizeY = operand_def(_Size)
    gridSizeZ = operand_def(_Size)
    blockSizeX = operand_def(_Size)
    blockSizeY = operand_def(_Size)
    blockSizeZ = operand_def(_Size)
    clusterSizeX = opt_operand_def(_Size)
    clusterSizeY = opt_operand_def(_Size)
    clusterSizeZ = opt_operand_def(_Size)
    dynamicSharedMemorySize = opt_operand_def(i32)
    kernelOperands = var_operand_def()
    asyncObject = opt_operand_def()
    asyncToken = opt_result_def(AsyncTokenType)
    kernel = prop_def(SymbolRefAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        kernel: SymbolRefAttr | tuple[str, str],
        grid: Triple,
        block: Triple,
        arguments: Sequence[SSAValue] = (),
        *,
        cluster: Triple = (),
        dependencies: Sequence[SSAValue] = (),
        shared_bytes: SSAValue | None = None,
        is_async: bool = False,
        nodes: Sequence[str] = (),
    ):
        if isinstance(kernel, tuple):
            kernel = SymbolRefAttr(kernel[0], [kernel[1]])
        super().__init__(
            operands=[
                dependencies,
                *grid,
                *block,
                *([size] for size in cluster or ()),
                *([] for _ in range(0 if cluster else 3)),
                shared_bytes,
                arguments,
                None,
            ],
            result_types=[AsyncTokenType() if is_async else None],
            properties={"kernel": kernel},
            attributes={NODES: nodes_attr(nodes)} if nodes else {},
        )

    @property
    def grid(self) -> Triple:
        """The numbers of blocks."""
        return self.gridSizeX, self.gridSizeY, self.gridSizeZ

    @property
    def block(self) -> Triple:
        """The numbers of threads of a block."""
        return self.blockSizeX, self.blockSizeY, self.blockSizeZ

    @property
    def cluster(self) -> Triple:
        """The numbers of blocks of a cluster; empty if it has none."""
        sizes = self.clusterSizeX, self.clusterSizeY, self.clusterSizeZ
        return [size for size in sizes if size is not None]

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """What is passed to the kernel."""
        return self.kernelOperands

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes of the model that the kernel computes."""
        return nodes_of(self)

    def verify_(self) -> None:
        for what, kind in (("grid", self.grid), ("block", self.block)):
            types = {str(size.type) for size in kind}
            if len(types) > 1:
                problem = f"the sizes of the {what} are {', '.join(sorted(types))}"
                raise VerifyException(complaint(self, problem, hint="give all one type"))
        if self.is_lowered:
            return
        kernel = self.callee
        if kernel is None or kernel.kernel is None:
            problem = f"{self.kernel} is no kernel"
            hint = "launch a gpu.func that is marked `kernel`, such as @kernels::@f"
            raise VerifyException(complaint(self, problem, hint=hint))
        self._verify_arguments(kernel)
        self._verify_sizes(kernel)

    @property
    def is_lowered(self) -> bool:
        """Whether the kernel is a function of LLVM, which has pointers for buffers."""
        found = SymbolTable.lookup_symbol(self, self.kernel)
        return found is not None and found.name == "llvm.func"

    @property
    def callee(self) -> FuncOp | None:
        """The kernel, if there is a function of its name."""
        found = SymbolTable.lookup_symbol(self, self.kernel)
        return found if isinstance(found, FuncOp) else None

    def _verify_arguments(self, kernel: FuncOp) -> None:
        wanted = kernel.function_type.inputs.data
        if len(self.arguments) != len(wanted):
            problem = f"passes {len(self.arguments)} arguments, {self.kernel} takes {len(wanted)}"
            notes = (note_at(kernel, "the kernel is here"),)
            raise VerifyException(Complaints([diagnose(self, problem, notes=notes)]))
        for number, (value, type_) in enumerate(zip(self.arguments, wanted, strict=True)):
            if value.type != type_:
                problem = f"argument #{number} is {value.type}, {self.kernel} takes {type_}"
                notes = (note_at(kernel, "the kernel is here"),)
                raise VerifyException(Complaints([diagnose(self, problem, notes=notes)]))

    def _verify_sizes(self, kernel: FuncOp) -> None:
        """Check that sizes which are known are those that the kernel is made for."""
        groups = (("blocks", self.grid, kernel.grid), ("threads", self.block, kernel.block))
        for what, given, wanted in groups:
            sizes = constant_sizes(given)
            if sizes is not None and wanted is not None and sizes != wanted:
                problem = f"launches {list(sizes)} {what}, {self.kernel} is for {list(wanted)}"
                notes = (note_at(kernel, "the kernel is here"),)
                raise VerifyException(Complaints([diagnose(self, problem, notes=notes)]))

    def print(self, printer: Printer) -> None:
        print_async(printer, self.asyncToken is not None, self.asyncDependencies)
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        for word, sizes in self._groups():
            printer.print_string(f" {word} in (")
            printer.print_list(sizes, printer.print_ssa_value)
            printer.print_string(")")
        if not isinstance(self.gridSizeX.type, IndexType):
            printer.print_string(" : ")
            printer.print_attribute(self.gridSizeX.type)
        if self.dynamicSharedMemorySize is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_ssa_value(self.dynamicSharedMemorySize)
        if self.kernelOperands:
            printer.print_string(" args(")
            printer.print_list(self.kernelOperands, lambda value: _print_typed(printer, value))
            printer.print_string(")")
        printer.print_op_attributes(self.attributes)

    def _groups(self) -> list[tuple[str, Triple]]:
        clusters = [("clusters", self.cluster)] if self.cluster else []
        return [*clusters, ("blocks", self.grid), ("threads", self.block)]

    @classmethod
    def parse(cls, parser: Parser) -> LaunchFuncOp:
        is_async, dependencies = parse_async(parser)
        kernel = parser.parse_attribute()
        if not isinstance(kernel, SymbolRefAttr):
            parser.raise_error("expected the name of a kernel, such as @kernels::@f")
        cluster = []
        if parser.parse_optional_keyword("clusters") is not None:
            cluster = _parse_sizes(parser)
        parser.parse_keyword("blocks")
        grid = _parse_sizes(parser)
        parser.parse_keyword("threads")
        block = _parse_sizes(parser)
        colon = parser.parse_optional_punctuation(":")
        size = IndexType() if colon is None else parser.parse_type()
        shared = None
        if parser.parse_optional_keyword("dynamic_shared_memory_size") is not None:
            shared = parser.resolve_operand(parser.parse_unresolved_operand(), i32)
        arguments = []
        if parser.parse_optional_keyword("args") is not None:
            paren = parser.Delimiter.PAREN
            arguments = parser.parse_comma_separated_list(paren, lambda: _parse_typed(parser))
        attributes = parser.parse_optional_attr_dict()
        triples = [[parser.resolve_operand(n, size) for n in t] for t in (grid, block, cluster)]
        op = cls(
            kernel,
            triples[0],
            triples[1],
            arguments,
            cluster=triples[2],
            dependencies=dependencies,
            shared_bytes=shared,
            is_async=is_async,
        )
        op.attributes |= attributes
        return op


def print_async(printer: Printer, is_async: bool, dependencies: Sequence[SSAValue]) -> None:
    """Print ` async [%token]`, as far as there is something of it."""
    if is_async:
        printer.print_string(" async")
    if dependencies:
        printer.print_string(" [")
        printer.print_list(dependencies, printer.print_ssa_value)
        printer.print_string("]")


def parse_async(parser: Parser) -> tuple[bool, list[SSAValue]]:
    """Parse what `print_async` prints."""
    is_async = parser.parse_optional_keyword("async") is not None
    names = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )
    return is_async, [parser.resolve_operand(name, AsyncTokenType()) for name in names or ()]


def _parse_sizes(parser: Parser) -> list[UnresolvedOperand]:
    parser.parse_keyword("in")
    at = parser.pos
    names = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_unresolved_operand
    )
    if len(names) != 3:
        parser.raise_error(f"{len(names)} sizes are given, expected 3: x, y, z", at, parser.pos)
    return names


def _parse_typed(parser: Parser) -> SSAValue:
    name = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(name, parser.parse_type())


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)
