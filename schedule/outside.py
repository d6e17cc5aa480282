"""Formulas that give a padding's value in the padding: relu(x) or 0 is relu(x or 0)."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr

from nn_opt.dialects.loop import BlockOp, LoadOp, StoreOp
from nn_opt.ir.literals import scalar_attr, scalar_value
from nn_opt.ir.types import element_type, shape_of
from nn_opt.reference.running import make_interpreter
from nn_opt.schedule.nest import loads_in, stores_in

SAFE = ("arith", "math")  # dialects of arithmetic on elements alone


def keeps_outside(producer: BlockOp, load: LoadOp) -> bool:
    """Return whether a stage's formula, read where there is no element, may be computed there.

    Its own loads are then outside, too, and give `load`'s `or` value; so must the formula of it.
    """
    stores, loads = list(stores_in(producer)), list(loads_in(producer))
    if load.default is None or producer.init is not None or len(stores) != 1 or not loads:
        return False
    if not all(_at_same_place(own, stores[0], load) for own in loads):
        return False
    work = [op for op in producer.body.block.ops if not isinstance(op, LoadOp | StoreOp)]
    axes = set(producer.axes)
    if any(op.name.partition(".")[0] not in SAFE or axes & set(op.operands) for op in work):
        return False
    wanted = scalar_value(load.default)
    return bool(np.array_equal(_value_at(producer, stores[0], load), wanted))


def _at_same_place(own: LoadOp, store: StoreOp, load: LoadOp) -> bool:
    """Return whether a load of the formula is of the element that it stores, of a like buffer."""
    if shape_of(own.memref) != shape_of(store.memref) or own.default not in (None, load.default):
        return False
    if element_type(own.memref) != element_type(load.memref):
        return False
    exprs = (*own.map.data.results, *store.map.data.results)
    if not all(isinstance(expr, AffineDimExpr) for expr in exprs):
        return False
    return _indices(own) == _indices(store)


def _indices(access: LoadOp | StoreOp) -> list[SSAValue]:
    dims = (expr for expr in access.map.data.results if isinstance(expr, AffineDimExpr))
    return [access.indices[dim.position] for dim in dims]


def _value_at(producer: BlockOp, store: StoreOp, load: LoadOp) -> Any:
    """Return what the formula makes of the `or` value in place of each element."""
    assert load.default is not None
    block = Block()
    clones: dict[SSAValue, SSAValue] = {}
    for op in producer.body.block.ops:
        if op is store:
            continue
        if isinstance(op, LoadOp):
            number = scalar_value(load.default)
            clone = ConstantOp(scalar_attr(number, op.result.type), op.result.type)
        else:
            clone = op.clone(clones)
        block.add_op(clone)
        clones.update(zip(op.results, clone.results, strict=True))
    block.add_op(ReturnOp(clones[store.value]))
    function = FuncOp("formula", ((), (store.value.type,)), Region(block))
    interpreter = make_interpreter(ModuleOp([function]))
    (value,) = interpreter.call_op("formula", ())
    return value
