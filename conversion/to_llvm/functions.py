"""Functions: kernels with a pointer for each buffer, and the entry that calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation

from nn_opt.conversion.to_llvm.addressing import offset_pointer
from nn_opt.conversion.to_llvm.code import Buffer, Code, Rule
from nn_opt.conversion.to_llvm.machine import POINTER
from nn_opt.conversion.to_llvm.symbols import INTERNAL, function, is_wide
from nn_opt.conversion.to_llvm.unit import Unit
from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.resources import ResourceAttr
from nn_opt.ir.target import module_around

ENTRY = "nn_main"  # (inputs, outputs, weights, arena): arrays of pointers, bytes, bytes
ALIGNMENT = 64  # bytes: a cache line, and the widest vector
BEFORE, BEFORE_OFFSETS = "nn.weights_before", "nn.weight_offsets_before"
BEFORE_BYTES = "nn.weight_bytes_before"
EXTERNAL = llvm.LinkageAttr("external")
ALIASES = "nn.aliases"  # on a kernel: the arguments that may be the same buffer
Rules = Mapping[type[Operation], Rule]


def lower_kernel(unit: Unit, source: func.FuncOp, rules: Rules, exported: bool) -> None:
    """func.func @k(%x: memref, ...)  ->  llvm.func @k(%x: !llvm.ptr, ...)"""
    name = source.sym_name.data
    unit.function, unit.wide = name, is_wide(source)
    unit.note_writes(source)
    arguments = [unit.type_of(type_) for type_ in source.function_type.inputs]
    code = Code(unit, rules, arguments, unit.target.has_threads, source.location)
    aliases = aliased(source)
    for k, (old, new) in enumerate(zip(source.args, code.current.block.args, strict=True)):
        new.name_hint = old.name_hint
        if isinstance(old.type, MemRefType):
            code.buffers[old] = Buffer(new, ALIASES if k in aliases else old)
        else:
            code.bind(old, new)
    code.lower(source.body.block)
    linkage = EXTERNAL if exported else INTERNAL
    result = function(name, arguments, code.finish(), unit.wide, linkage)
    result.arg_attrs = ArrayAttr(
        [argument_attributes(type_, k in aliases) for k, type_ in enumerate(arguments)]
    )
    result.location = source.location
    unit.functions.append(result)


def aliased(source: func.FuncOp) -> frozenset[int]:
    """Return the arguments that may be the same buffer as others."""
    given = source.attributes.get(ALIASES)
    if not isinstance(given, DenseArrayBase):
        return frozenset()
    return frozenset(int(position) for position in given.iter_values())


def argument_attributes(type_: Attribute, aliases: bool) -> DictionaryAttr:
    """Return what LLVM may assume of an argument."""
    if type_ != POINTER or aliases:
        return DictionaryAttr({})
    return DictionaryAttr({"llvm.noalias": UnitAttr()})


def lower_call(code: Code, op: func.CallOp) -> None:
    """func.call @k(%x, %y)  ->  llvm.call @k with pointers"""
    values = [
        code.buffers[operand].pointer if operand in code.buffers else code.value(operand)
        for operand in op.arguments
    ]
    call = llvm.CallOp(op.callee.string_value(), *values)
    call.location = op.location
    if loop.NUMBER in op.attributes:
        call.attributes[loop.NUMBER] = op.attributes[loop.NUMBER]
    code.act(call)
    for operand in op.arguments:
        if operand in code.buffers:
            code.forget_loads(code.buffers[operand].root)


def lower_return(code: Code, op: func.ReturnOp) -> None:
    """func.return  ->  llvm.return"""
    code.act(code.make(llvm.ReturnOp, ()))


@dataclass
class Weights:
    """The constants of @main, one after the other in the order of their first use."""

    values: list[Attribute] = field(default_factory=list[Attribute])
    offsets: list[int] = field(default_factory=list[int])
    known: dict[object, int] = field(default_factory=dict[object, int])
    size: int = 0
    before: dict[Attribute, int] = field(default_factory=dict[Attribute, int])

    @staticmethod
    def after(main: Operation) -> Weights:
        """Return weights that follow those of other code for the same block, and share theirs."""
        module = module_around(main)
        attributes = module.attributes if module is not None else {}
        match attributes.get(BEFORE), attributes.get(BEFORE_OFFSETS), attributes.get(BEFORE_BYTES):
            case ArrayAttr(data=values), DenseArrayBase() as places, IntegerAttr() as size:
                numbers = cast("DenseArrayBase[IntegerType]", places).get_values()
                offsets = [int(offset) for offset in numbers]
                before = dict(zip(values, offsets, strict=True))
                return Weights([*values], offsets, {}, size.value.data, before)
            case _:
                return Weights()

    def offset(self, op: loop.ConstantOp) -> int:
        """Return where a constant lies; equal ones share a place."""
        key = _identity(op.value)
        if key not in self.known and op.value in self.before:
            self.known[key] = self.before[op.value]
        if key not in self.known:
            self.known[key] = self.size
            self.values.append(op.value)
            self.offsets.append(self.size)
            self.size += -(-byte_size(op.result) // ALIGNMENT) * ALIGNMENT
        return self.known[key]


def _identity(value: Attribute) -> object:
    """Return what tells constants apart without hashing megabytes of equal shape."""
    if isinstance(value, ResourceAttr) and value.data.array is not None:
        return id(value.data.array)
    return value


def lower_main(unit: Unit, source: func.FuncOp, rules: Rules, outputs: int) -> Weights:
    """func.func @main  ->  llvm.func @nn_main(inputs, outputs, weights, arena)"""
    unit.function, unit.wide = ENTRY, is_wide(source)
    unit.note_writes(source)
    weights = Weights.after(source)
    code = Code(
        unit,
        {**rules, loop.ConstantOp: weight_rule(weights), loop.ArenaOp: lower_arena},
        [POINTER] * 4,
        may_outline=unit.target.has_threads,
        location=source.location,
    )
    for value, name in zip(code.current.block.args, ENTRY_ARGUMENTS, strict=True):
        value.name_hint = name
    inputs = len(source.args) - outputs
    for k, argument in enumerate(source.args):
        table, position = (0, k) if k < inputs else (1, k - inputs)
        array = code.current.block.args[table]
        place = offset_pointer(code, array, POINTER, position)
        properties = {
            "alignment": IntegerAttr(unit.target.pointer_bits // 8, i64),
            "ordering": IntegerAttr(0, i64),
        }
        pointer = code.emit(llvm.LoadOp, (place,), POINTER, properties)
        pointer.name_hint = argument.name_hint
        code.buffers[argument] = Buffer(pointer, ALIASES)
    code.lower(source.body.block)
    result = function(ENTRY, [POINTER] * 4, code.finish(), unit.wide, EXTERNAL)
    result.location = source.location
    unit.functions.append(result)
    return weights


ENTRY_ARGUMENTS = ("inputs", "outputs", "weights", "arena")


def weight_rule(weights: Weights) -> Rule:
    """Return the rule for constants of @main: part of the weights."""

    def lower(code: Code, op: loop.ConstantOp) -> None:
        base = code.chunks[0].block.args[2]
        pointer = offset_pointer(code, base, i8, weights.offset(op))
        code.buffers[op.result] = Buffer(pointer, op.result)

    return lower


def lower_arena(code: Code, op: loop.ArenaOp) -> None:
    """loop.arena  ->  the entry's last argument"""
    code.buffers[op.result] = Buffer(code.chunks[0].block.args[3], op.result)


def describe(module: ModuleOp, weights: Weights, source: func.FuncOp) -> None:
    """Tell the caller of the entry what it must provide."""
    module.attributes["nn.weights"] = ArrayAttr(weights.values)
    module.attributes["nn.weight_offsets"] = DenseArrayBase.from_list(i64, weights.offsets)
    module.attributes["nn.weight_bytes"] = IntegerAttr(weights.size, i64)
    arenas = [op for op in source.walk() if isinstance(op, loop.ArenaOp)]
    size = max([byte_size(op.result) for op in arenas], default=0)
    module.attributes["nn.arena_bytes"] = IntegerAttr(size, i64)
