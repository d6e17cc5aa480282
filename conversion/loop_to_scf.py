"""loop -> scf, memref, arith and vector of upstream MLIR, for mlir-opt and as a second opinion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from nn_opt.conversion.to_scf import accesses, numbers
from nn_opt.conversion.to_scf.code import INDEX, Code, Place, stored
from nn_opt.dialects import loop
from nn_opt.ir.legality import require_absent, require_one_block
from nn_opt.ir.memref_format import GlobalOp
from nn_opt.ir.resources import array_of, dense_of
from nn_opt.ir.scf_format import ParallelOp
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of

HINTS = {"loop.block": "run --lower-blocks first"}


@dataclass(frozen=True)
class ConvertLoopToScfPass(ModulePass):
    """Needs: loop without blocks. Leaves: scf, memref, arith, math, vector, func. Order: last."""

    name = "convert-loop-to-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        converter = Converter(op)
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp):
                converter.convert_function(function)
        require_absent(op, "loop", after=self.name, hints=HINTS)


@dataclass
class Converter:
    """Converts the functions of a module; `places` says where each buffer is."""

    module: ModuleOp
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    globals: int = 0
    entry: Block = field(default_factory=Block)  # what goes to the function's start
    parallel: int = 0  # how many parallel loops are around

    def convert_function(self, function: func.FuncOp) -> None:
        """Convert a function in place."""
        types = [stored_type(type_) for type_ in function.function_type.inputs]
        outputs = function.function_type.outputs.data
        function.function_type = FunctionType.from_lists(types, [*outputs])
        if not function.body.blocks:
            return
        old = function.body.detach_block(0)
        new = Block(arg_types=types)
        function.body.add_block(new)
        for before, after in zip(old.args, new.args, strict=True):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
            if isinstance(before.type, MemRefType):
                self.places[after] = Place(after, element_type(before), shape_of(after))
        self.fill(old, Code(new, function.location))
        for op in reversed(list(self.entry.ops)):
            op.detach()
            new.insert_op_before(op, first_of(new))

    def fill(self, old: Block, code: Code) -> None:
        """Move the work of `old` to the end of the code's block; free what it allocated."""
        frees: list[SSAValue] = []
        last = old.last_op if isinstance(old.last_op, func.ReturnOp) else None
        for op in list(old.ops):
            if op is last:
                continue
            self.convert(op, code.at(op))
            if isinstance(op, loop.AllocOp | loop.ArenaOp):
                buffer = self.places[op.result].memref
                frees += [buffer] if isinstance(buffer.owner, memref.AllocOp) else []
        for place in reversed(frees):
            code.act(memref.DeallocOp.get(place))
        if last is not None:
            last.detach()
            code.block.add_op(last)

    def convert(self, op: Operation, code: Code) -> None:
        """Append what an op becomes; an upstream op moves as it is."""
        rule = RULES.get(type(op))
        op.detach()
        if rule is None:
            code.block.add_op(op)
            return
        result = rule(self, op, code)
        if result is not None:
            result.name_hint = op.results[0].name_hint
            op.results[0].replace_all_uses_with(result)

    def convert_for(self, nest: loop.ForOp, code: Code) -> None:
        """loop.for  ->  scf.for, or scf.parallel"""
        body = Block(arg_types=[INDEX])
        body.args[0].name_hint = nest.index.name_hint
        nest.index.replace_all_uses_with(body.args[0])
        low, high, step = code.bounds(nest.trips)
        inner = code.inside(body)
        if nest.how is loop.ForKind.PARALLEL:
            self.parallel += 1
            self.fill(nest.body.block, inner)
            self.parallel -= 1
            inner.act(scf.ReduceOp())
            code.act(ParallelOp([low], [high], [step], Region(body)))
        else:
            self.fill(nest.body.block, inner)
            inner.act(scf.YieldOp())
            code.act(scf.ForOp(low, high, step, [], body))

    def convert_if(self, guard: loop.IfOp, code: Code) -> None:
        """loop.if  ->  scf.if"""
        values = code.indices(guard.conditions.data, guard.indices)
        body = Block()
        inner = code.inside(body)
        self.fill(guard.body.block, inner)
        inner.act(scf.YieldOp())
        code.act(scf.IfOp(code.at_least_0(values), [], Region(body)))

    def convert_load(self, op: loop.LoadOp, code: Code) -> SSAValue:
        """loop.load  ->  memref.load, vector.load, or one element after the other"""
        return accesses.load(code, op, self.places[op.memref])

    def convert_gather(self, op: loop.GatherOp, code: Code) -> SSAValue:
        """loop.gather  ->  one element after the other"""
        return accesses.gather(code, op, self.places[op.memref])

    def convert_store(self, op: loop.StoreOp, code: Code) -> None:
        """loop.store  ->  memref.store, vector.store, or one element after the other"""
        accesses.store(code, op, self.places[op.memref], op.value)

    def convert_dot(self, op: loop.DotOp, code: Code) -> SSAValue:
        """loop.dot  ->  one product of each lane after the other"""
        return numbers.dot(code, op)

    def convert_ldexp(self, op: loop.LdexpOp, code: Code) -> SSAValue:
        """loop.ldexp  ->  a product with a double that is made of its bits"""
        return numbers.ldexp(code, op.value, op.exponent)

    def convert_apply(self, op: loop.ApplyOp, code: Code) -> SSAValue:
        """loop.apply  ->  arith"""
        return code.index(op.map.data.results[0], op.indices)

    def convert_alloc(self, op: loop.AllocOp | loop.ArenaOp, code: Code) -> None:
        """loop.alloc  ->  memref.alloc, or memref.alloca at the entry for stack and register

        In a parallel loop each iteration has its own, which no stack could hold: memref.alloc.
        """
        element, shape = element_type(op.result), shape_of(op.result)
        if is_local(op) and not self.parallel:
            alloca = memref.AllocaOp.get(stored(element), 64, shape)
            alloca.location = op.location
            self.entry.add_op(alloca)
            result = alloca.memref
        else:
            result = code.emit(memref.AllocOp.get(stored(element), 64, shape))
        result.name_hint = op.result.name_hint
        self.places[op.result] = Place(result, element, shape)

    def convert_constant(self, op: loop.ConstantOp, code: Code) -> None:
        """loop.constant  ->  memref.global, memref.get_global"""
        element, shape = element_type(op.result), shape_of(op.result)
        array = array_of(op.value, op.result.type)
        if element == i1:
            array = array.astype(np.int8)
        dense = dense_of(np.broadcast_to(array, shape))
        type_ = memref_type(shape, stored(element))
        name = f"constant_{self.globals}"
        self.globals += 1
        global_ = GlobalOp.get(StringAttr(name), type_, dense, constant=UnitAttr(), alignment=64)
        global_.location = op.location
        self.module.body.block.insert_op_before(global_, first_of(self.module.body.block))
        place = code.emit(memref.GetGlobalOp(name, type_))
        self.places[op.result] = Place(place, element, shape)

    def convert_view(self, op: loop.ViewOp, code: Code) -> None:
        """loop.view  ->  memref.reinterpret_cast, memref.view of bytes, or an offset to add"""
        source, shape = self.places[op.source], shape_of(op.result)
        element = element_type(op.result)
        offset = code.index(op.start, op.indices)
        if stored(element) != stored(source.element):
            type_ = memref_type(shape, stored(element))
            view = memref.ViewOp.create(operands=[source.memref, offset], result_types=[type_])
            self.places[op.result] = Place(code.emit(view), element, shape)
        elif op.start == AffineExpr.constant(0) and source.offset is None:
            self.places[op.result] = Place(code.reshape(source, shape), element, shape)
        else:
            if source.offset is not None:
                offset = code.emit(arith.AddiOp(source.offset, offset))
            self.places[op.result] = Place(code.flat(source), element, shape, offset)

    def convert_copy(self, op: loop.CopyOp, code: Code) -> None:
        """loop.copy  ->  a loop"""
        accesses.copy(code, self.places[op.source], self.places[op.target])

    def convert_call(self, op: func.CallOp, code: Code) -> None:
        """func.call, with copies of the arguments that are parts of a buffer"""
        places = [self.places.get(argument) for argument in op.arguments]
        parts = [place for place in places if place is not None and place.offset is not None]
        whole = {place: self.copy_of(place, code) for place in parts}
        arguments = [
            argument if place is None else whole.get(place, place).memref
            for argument, place in zip(op.arguments, places, strict=True)
        ]
        call = func.CallOp(op.callee, arguments, [result.type for result in op.res])
        call.attributes |= op.attributes
        code.act(call)
        for place, temporary in whole.items():
            accesses.copy(code, temporary, place)
            code.act(memref.DeallocOp.get(temporary.memref))
        for old, new in zip(op.res, call.res, strict=True):
            old.replace_all_uses_with(new)

    def copy_of(self, place: Place, code: Code) -> Place:
        """Return a new buffer with the same elements."""
        alloc = memref.AllocOp.get(element_type(place.memref), 64, place.shape)
        result = Place(code.emit(alloc), place.element, place.shape)
        accesses.copy(code, place, result)
        return result


def first_of(block: Block) -> Operation:
    """Return the first op of a block that has one."""
    assert block.first_op is not None, "a block ends in a terminator"
    return block.first_op


def stored_type(type_: Attribute) -> Attribute:
    """Return the type of an argument: bools are bytes."""
    if not is_memref(type_):
        return type_
    return memref_type(shape_of(type_), stored(element_type(type_)))


def is_memref(type_: Attribute) -> bool:
    """Return whether an argument is a buffer."""
    return isinstance(type_, MemRefType)


def is_local(op: loop.AllocOp | loop.ArenaOp) -> bool:
    """Return whether a buffer lives on the stack."""
    return memory_space(op.result) in ("stack", "register")


RULES: dict[type[Operation], Callable[..., SSAValue | None]] = {
    loop.ForOp: Converter.convert_for,
    loop.IfOp: Converter.convert_if,
    loop.LoadOp: Converter.convert_load,
    loop.GatherOp: Converter.convert_gather,
    loop.StoreOp: Converter.convert_store,
    loop.DotOp: Converter.convert_dot,
    loop.LdexpOp: Converter.convert_ldexp,
    loop.ApplyOp: Converter.convert_apply,
    loop.AllocOp: Converter.convert_alloc,
    loop.ArenaOp: Converter.convert_alloc,
    loop.ConstantOp: Converter.convert_constant,
    loop.ViewOp: Converter.convert_view,
    loop.CopyOp: Converter.convert_copy,
    func.CallOp: Converter.convert_call,
}
