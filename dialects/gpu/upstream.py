"""The text of xDSL's own gpu operations: MLIR's, where xDSL has the generic form alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import gpu
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Block, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.printer import Printer

from nn_opt.dialects.gpu.attributes import drop_no_buffers
from nn_opt.dialects.gpu.launch import parse_async, print_async

FORMATS: dict[Any, str] = {
    gpu.TerminatorOp: "attr-dict",
    gpu.HostRegisterOp: "$value attr-dict `:` type($value)",
    gpu.HostUnregisterOp: "$value attr-dict `:` type($value)",
    gpu.SetDefaultDeviceOp: "attr-dict $devIndex",
    gpu.YieldOp: "$values attr-dict `:` type($values)",
}


def use_formats() -> None:
    """Let these operations read and print themselves as MLIR's do."""
    for op, text in FORMATS.items():
        program = FormatProgram.from_str(text, op.get_irdl_definition())
        op.parse = classmethod(_parser(program))
        op.print = _printer(program)
    launch: Any = gpu.LaunchOp
    launch.parse = classmethod(_parse_launch)
    launch.print = _print_launch
    launch.__post_init__ = _launch_post_init


def _launch_post_init(self: gpu.LaunchOp) -> None:
    drop_no_buffers(self)
    IRDLOperation.__post_init__(self)


def _parser(program: FormatProgram) -> Any:
    def parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
        return program.parse(parser, cls)

    return parse


def _printer(program: FormatProgram) -> Any:
    def show(op: IRDLOperation, printer: Printer) -> None:
        program.print(printer, op)

    return show


# Of the body's arguments: the ids of a group, and its sizes.
_GROUPS = {"blocks": (slice(0, 3), slice(6, 9)), "threads": (slice(3, 6), slice(9, 12))}


def _print_launch(op: gpu.LaunchOp, printer: Printer) -> None:
    print_async(printer, op.asyncToken is not None, op.asyncDependencies)
    arguments = op.body.blocks[0].args
    grid = op.gridSizeX, op.gridSizeY, op.gridSizeZ
    block = op.blockSizeX, op.blockSizeY, op.blockSizeZ
    for (word, (ids, names)), sizes in zip(_GROUPS.items(), (grid, block), strict=True):
        printer.print_string(f" {word}(")
        printer.print_list(arguments[ids], printer.print_ssa_value)
        printer.print_string(") in (")
        pairs = list(zip(arguments[names], sizes, strict=True))
        printer.print_list(pairs, lambda pair: _print_pair(printer, *pair))
        printer.print_string(")")
    if op.dynamicSharedMemorySize is not None:
        printer.print_string(" dynamic_shared_memory_size ")
        printer.print_ssa_value(op.dynamicSharedMemorySize)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False)
    printer.print_op_attributes(op.attributes)


def _print_pair(printer: Printer, name: SSAValue, size: SSAValue) -> None:
    printer.print_ssa_value(name)
    printer.print_string(" = ")
    printer.print_ssa_value(size)


def _parse_launch(cls: type[gpu.LaunchOp], parser: Parser) -> gpu.LaunchOp:
    is_async, dependencies = parse_async(parser)
    ids: list[Parser.Argument] = []
    names: list[Parser.Argument] = []
    sizes: list[Sequence[SSAValue]] = []
    for word in _GROUPS:
        parser.parse_keyword(word)
        ids += parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_name(parser)
        )
        parser.parse_keyword("in")
        pairs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_pair(parser)
        )
        names += [name for name, _ in pairs]
        sizes.append([size for _, size in pairs])
    shared = None
    if parser.parse_optional_keyword("dynamic_shared_memory_size") is not None:
        shared = parser.resolve_operand(parser.parse_unresolved_operand(), i32)
    body = parser.parse_region([*ids, *names])
    _end(body.blocks[0])
    op = cls(
        body,
        *sizes,
        async_launch=is_async,
        asyncDependencies=dependencies,
        dynamicSharedMemorySize=shared,
    )
    op.attributes |= parser.parse_optional_attr_dict()
    return op


def _end(block: Block) -> None:
    if not isinstance(block.last_op, gpu.TerminatorOp):
        block.add_op(gpu.TerminatorOp())


def _parse_name(parser: Parser) -> Parser.Argument:
    return parser.parse_argument(expect_type=False).resolve(IndexType())


def _parse_pair(parser: Parser) -> tuple[Parser.Argument, SSAValue]:
    name = _parse_name(parser)
    parser.parse_punctuation("=")
    return name, parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
