"""The llvm dialect as the text that LLVM's own parser reads."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from nn_opt.backends.llvm.debug import DebugInfo, source_of, with_line
from nn_opt.backends.llvm.instructions import RULES
from nn_opt.backends.llvm.text import Edge, Text, edges
from nn_opt.backends.llvm.words import bytes_literal, constant, symbol, type_word
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.resources import array_of

METADATA = """\
!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = !{!"llvm.loop.vectorize.enable", i1 false}
"""
CONVENTIONS = {"ptx_kernelcc": " ptx_kernel", "spir_kernelcc": " spir_kernel"}
ARGUMENT_WORDS = {
    "llvm.noalias": "noalias",
    "llvm.readonly": "readonly",
    "llvm.writeonly": "writeonly",
    "llvm.nocapture": "captures(none)",
}


def print_module(module: ModuleOp, *, debug_info: bool = False) -> str:
    """Return a module of the llvm dialect as LLVM assembly.

    debug_info: with the file, line and node of each instruction.
    Raises: PassFailedException for an op that is not of the llvm dialect.
    """
    declarations: dict[str, str] = {}
    debug = DebugInfo(source_of(module)) if debug_info else None
    parts = [_top_level(op, declarations, debug) for op in module.ops]
    defined = {symbol(op.sym_name.data) for op in module.ops if isinstance(op, llvm.FuncOp)}
    needed = [text for name, text in declarations.items() if name not in defined]
    footer = debug.footer() if debug is not None else ()
    return "\n".join([*parts, *needed, METADATA, *footer])


def _top_level(op: Operation, declarations: dict[str, str], debug: DebugInfo | None) -> str:
    if isinstance(op, llvm.GlobalOp):
        return _global(op)
    if isinstance(op, llvm.FuncOp):
        return _function(op, Text(declarations, debug=debug))
    hint = "run --convert-loop-to-llvm first"
    raise PassFailedException(complaint(op, "is no function or global of LLVM", hint=hint))


def _global(op: llvm.GlobalOp) -> str:
    linkage = op.linkage.linkage.data
    kind = "constant" if op.constant is not None else "global"
    address = "unnamed_addr " if op.unnamed_addr is not None else ""
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    if space := op.addr_space.value.data:
        kind = f"addrspace({space}) {kind}"
        if op.value is None:  # memory of a block, which has no contents at first
            word = type_word(op.global_type)
            return f"{symbol(op.sym_name.data)} = {linkage} {kind} {word} undef{align}"
    if op.value is None and linkage == "external":
        return f"{symbol(op.sym_name.data)} = external {kind} {type_word(op.global_type)}{align}"
    text = _initializer(op.value, op.global_type)
    return f"{symbol(op.sym_name.data)} = {linkage} {address}{kind} {text}{align}"


def _initializer(value: Attribute | None, type_: Attribute) -> str:
    if value is None:
        return f"{type_word(type_)} zeroinitializer"
    if type(value) in (IntegerAttr, FloatAttr):
        return f"{type_word(type_)} {constant(value, type_)}"
    shaped: Attribute = getattr(value, "type", type_)  # dense text has one, resources have not
    return bytes_literal(array_of(value, shaped))


def _function(op: llvm.FuncOp, text: Text) -> str:
    types = list(op.function_type.inputs)
    attributes = _argument_attributes(op, len(types))
    result = type_word(op.function_type.output)
    name = symbol(op.sym_name.data)
    suffix = _function_attributes(op)
    if not op.body.blocks:
        arguments = [f"{type_word(t)}{extra}" for t, extra in zip(types, attributes, strict=True)]
        return f"declare {result} {name}({', '.join(arguments)}){suffix}"
    if text.debug is not None:
        text.scope = text.debug.function(op)
        suffix += f" !dbg {text.scope}"
    entry = op.body.blocks[0]
    arguments = [
        f"{type_word(value.type)}{extra} {text.name(value)}"
        for value, extra in zip(entry.args, attributes, strict=True)
    ]
    linkage = op.linkage.linkage.data
    start = "define" if linkage == "external" else f"define {linkage}"
    start += CONVENTIONS.get(op.CConv.convention.data, "")
    lines = [f"{start} {result} {name}({', '.join(arguments)}){suffix} {{"]
    return "\n".join([*lines, *_body(op, text), "}\n"])


def _body(op: llvm.FuncOp, text: Text) -> list[str]:
    blocks = list(op.body.blocks)
    text.number_blocks(blocks)
    incoming: dict[Block, list[Edge]] = {block: [] for block in blocks}
    for target, edge in edges(blocks, text.labels):
        incoming[target].append(edge)
    lines: list[str] = []
    for block in blocks:
        lines.append(f"{text.label(block)}:")
        if block is not blocks[0]:
            lines += _phis(block, incoming[block], text)
        lines += [line for op in block.ops if (line := _line(op, text))]
    return lines


def _line(op: Operation, text: Text) -> str:
    rule = RULES.get(type(op))
    if rule is None:
        hint = "run --convert-loop-to-llvm first"
        raise PassFailedException(complaint(op, "LLVM has no word for this", hint=hint))
    line = rule(text, op)
    if text.debug is None or not line:
        return line
    return with_line(line, text.debug.line(op.location, text.scope))


def _phis(block: Block, incoming: list[Edge], text: Text) -> list[str]:
    lines: list[str] = []
    for position, value in enumerate(block.args):
        words = [f"[ {text.name(given[position])}, %{label} ]" for label, given in incoming]
        lines.append(f"  {text.name(value)} = phi {type_word(value.type)} {', '.join(words)}")
    return lines


def _argument_attributes(op: llvm.FuncOp, count: int) -> list[str]:
    if op.arg_attrs is None:
        return [""] * count
    return ["".join(_argument_words(given)) for given in op.arg_attrs]


def _argument_words(given: DictionaryAttr) -> list[str]:
    words = [f" {word}" for key, word in ARGUMENT_WORDS.items() if key in given.data]
    alignment = given.data.get("llvm.align")
    if isinstance(alignment, IntegerAttr):
        words.append(f" align {alignment.value.data}")
    return words


def _function_attributes(op: llvm.FuncOp) -> str:
    given = op.properties | op.attributes
    words = ["nounwind"] if "no_unwind" in given else []
    for item in _items(given.get("passthrough")):
        if isinstance(item, StringAttr):
            words.append(item.data)
        else:
            key, value = [part.data for part in _items(item) if isinstance(part, StringAttr)]
            words.append(f'"{key}"="{value}"')
    return "".join(f" {word}" for word in words)


def _items(attribute: Attribute | None) -> tuple[Attribute, ...]:
    return attribute.data if isa(attribute, ArrayAttr[Attribute]) else ()
