"""loop.load, loop.gather and loop.store as memref and vector ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Attribute, Block, Region, SSAValue

from nn_opt.conversion.to_scf.code import INDEX, Code, Place, stored
from nn_opt.dialects import loop
from nn_opt.ir.literals import scalar_attr, scalar_value
from nn_opt.ir.resources import dense_of
from nn_opt.ir.types import element_type, numpy_dtype, vector_type
from nn_opt.ir.vector_arith import bool_like, lanes_of


@dataclass(frozen=True)
class Point:
    """An element: its indices, or, where these are not known apart, its offset in the buffer."""

    indices: Sequence[SSAValue] = ()
    offset: SSAValue | None = None


def read_element(code: Code, place: Place, point: Point) -> SSAValue:
    """Return one element that is inside."""
    target, indices = address(code, place, point)
    return from_memory(code, code.emit(memref.LoadOp.get(target, indices)), place.element)


def write_element(code: Code, value: SSAValue, place: Place, point: Point) -> None:
    """Write one element."""
    target, indices = address(code, place, point)
    code.act(memref.StoreOp.get(to_memory(code, value), target, indices))


def from_memory(code: Code, value: SSAValue, element: Attribute) -> SSAValue:
    """Return a scalar or vector that was loaded as its type on the loop level."""
    if element_type(value) == element:
        return value
    type_ = bool_like(value.type)
    return code.emit(arith.TruncIOp.create(operands=[value], result_types=[type_]))


def to_memory(code: Code, value: SSAValue) -> SSAValue:
    """Return a scalar or vector as its type in memory."""
    wanted = stored(element_type(value))
    if element_type(value) == wanted:
        return value
    lanes = lanes_of(value)
    if lanes is not None:
        wanted = vector_type(lanes, wanted)
    return code.emit(arith.ExtUIOp.create(operands=[value], result_types=[wanted]))


def address(code: Code, place: Place, point: Point) -> tuple[SSAValue, Sequence[SSAValue]]:
    """Return the memref to access and the indices in it."""
    if place.offset is None and point.offset is None:
        return place.memref, point.indices
    return code.flat(place), [flat_offset(code, place, point)]


def flat_offset(code: Code, place: Place, point: Point) -> SSAValue:
    """Return where an element is in the flat memref of its place."""
    own = point.offset
    if own is None:
        own = code.offset(point.indices, place.shape)
    return own if place.offset is None else code.emit(arith.AddiOp(place.offset, own))


def read_or(code: Code, place: Place, point: Point, default: Attribute) -> SSAValue:
    """Return one element, or the default if an index is outside."""
    if not point.indices:
        return read_element(code, place, point)
    beyond = [
        code.emit(arith.SubiOp(code.constant(size - 1), index))
        for index, size in zip(point.indices, place.shape, strict=True)
    ]
    inside = code.at_least_0([*point.indices, *beyond])
    then, otherwise = Block(), Block()
    yes, no = code.inside(then), code.inside(otherwise)
    yes.act(scf.YieldOp(read_element(yes, place, point)))
    constant = arith.ConstantOp(scalar_attr(scalar_value(default), place.element))
    no.act(scf.YieldOp(no.emit(constant)))
    result = [place.element]
    return code.emit(scf.IfOp(inside, result, Region(then), Region(otherwise)))


def load(code: Code, op: loop.LoadOp, place: Place) -> SSAValue:
    """Return what a loop.load reads."""
    point = Point(code.indices(op.map.data, op.indices))
    lanes = lanes_of(op.accessed)
    if lanes is None:
        if op.default is not None:
            return read_or(code, place, point, op.default)
        return read_element(code, place, point)
    if op.default is None and op.step == 1:
        offset = flat_offset(code, place, point)
        type_ = vector_type(lanes, element_type(place.memref))
        flat = vector.LoadOp.create(operands=[code.flat(place), offset], result_types=[type_])
        return from_memory(code, code.emit(flat), place.element)
    points = [lane_point(code, op, place, point, lane) for lane in range(lanes)]
    return collect(code, place, points, op.default)


def lane_point(
    code: Code, op: loop.LoadOp | loop.StoreOp, place: Place, point: Point, lane: int
) -> Point:
    """Return the element of one lane of an access."""
    default = op.default if isinstance(op, loop.LoadOp) else None
    moving = loop.lane_dimension(place.shape, op.step) if default is not None else None
    if moving is None:
        step = code.constant(lane * op.step)
        base = code.offset(point.indices, place.shape)
        return Point(offset=code.emit(arith.AddiOp(base, step)))
    indices = list(point.indices)
    step = code.constant(lane * moving[1])
    indices[moving[0]] = code.emit(arith.AddiOp(indices[moving[0]], step))
    return Point(indices)


def gather(code: Code, op: loop.GatherOp, place: Place) -> SSAValue:
    """Return what a loop.gather reads."""
    points: list[Point] = []
    for lane in range(op.lanes):
        values = [extract(code, index, lane) for index in op.indices]
        values = [code.emit(arith.IndexCastOp(value, INDEX)) for value in values]
        points.append(Point(values))
    return collect(code, place, points, op.default)


def extract(code: Code, value: SSAValue, lane: int) -> SSAValue:
    """Return one lane."""
    return code.emit(vector.ExtractOp(value, [lane], element_type(value)))


def collect(
    code: Code, place: Place, points: Sequence[Point], default: Attribute | None
) -> SSAValue:
    """Return the elements at all points as a vector."""
    element = place.element
    zero = dense_of(np.zeros(1, numpy_dtype(element)))
    zeros = DenseIntOrFPElementsAttr(VectorType(zero.get_element_type(), [len(points)]), zero.data)
    total = code.emit(arith.ConstantOp(zeros))
    for lane, point in enumerate(points):
        if default is None:
            value = read_element(code, place, point)
        else:
            value = read_or(code, place, point, default)
        total = code.emit(vector.InsertOp(value, total, [lane]))
    return total


def store(code: Code, op: loop.StoreOp, place: Place, value: SSAValue) -> None:
    """Write what a loop.store writes."""
    point = Point(code.indices(op.map.data, op.indices))
    lanes = lanes_of(op.accessed)
    if lanes is None:
        write_element(code, value, place, point)
        return
    if op.step == 1:
        offset = flat_offset(code, place, point)
        value = to_memory(code, value)
        code.act(vector.StoreOp.create(operands=[value, code.flat(place), offset]))
        return
    for lane in range(lanes):
        one = lane_point(code, op, place, point, lane)
        write_element(code, extract(code, value, lane), place, one)


def copy(code: Code, source: Place, target: Place) -> None:
    """Copy all elements, in row-major order."""
    body, index = code.loop(math.prod(source.shape))
    point = Point(offset=index)
    write_element(body, read_element(body, source, point), target, point)
    body.act(scf.YieldOp())
