"""Statements of kernels about vectors: as the language's own values, or lane by lane."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import gcd
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from nn_opt.backends.source.gpu_language import Buffer, GpuLanguage, Space
from nn_opt.backends.source.kernel_printer import KernelPrinter, flat, is_fixed
from nn_opt.backends.source.printer import MEMORY, NOTHING, tight
from nn_opt.dialects import loop
from nn_opt.dialects.loop import lane_dimension
from nn_opt.ir.affine import linear
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.types import element_type, is_vector, lanes_of, shape_of, vector_type

COMBINERS: dict[vector.CombiningKindFlag, type[Operation]] = {
    vector.CombiningKindFlag.MAXIMUMF: arith.MaximumfOp,
    vector.CombiningKindFlag.MINIMUMF: arith.MinimumfOp,
    vector.CombiningKindFlag.MAXNUMF: arith.MaxnumfOp,
    vector.CombiningKindFlag.MINNUMF: arith.MinnumfOp,
    vector.CombiningKindFlag.MAXSI: arith.MaxSIOp,
    vector.CombiningKindFlag.MINSI: arith.MinSIOp,
    vector.CombiningKindFlag.MAXUI: arith.MaxUIOp,
    vector.CombiningKindFlag.MINUI: arith.MinUIOp,
    vector.CombiningKindFlag.AND: arith.AndIOp,
    vector.CombiningKindFlag.OR: arith.OrIOp,
    vector.CombiningKindFlag.XOR: arith.XOrIOp,
}
SUMS: dict[vector.CombiningKindFlag, tuple[type[Operation], type[Operation]]] = {
    vector.CombiningKindFlag.ADD: (arith.AddfOp, arith.AddiOp),
    vector.CombiningKindFlag.MUL: (arith.MulfOp, arith.MuliOp),
}


def count_of(value: SSAValue | Attribute) -> int:
    """Return the lanes of a vector."""
    return shape_of(value)[0]


def on_scalars(kind: type[Operation], op: Operation, count: int, result: Attribute) -> Operation:
    """Return an op of a kind on scalars of the operands' element types, `count` of them."""
    types = [element_type(operand) for operand in op.operands]
    types = [*types, *types][:count]
    properties = op.properties if kind is type(op) else {}
    return kind.create(
        operands=Block(arg_types=types).args,
        result_types=[result],
        properties=properties,
    )


def value(p: KernelPrinter, op: Operation) -> None:
    """%c = arith.addf %a, %b : vector<4xf32>  ->  an expression, or one for each lane"""
    result = op.results[0]
    element, count = element_type(result), count_of(result)
    p.check_type(op, element)
    rule = p.gpu.vector_rules.get(type(op))
    if rule is not None and all(_is_native(p, v, count) for v in op.operands):
        reads = p.reads(op.operands)
        text = rule(p.gpu, op, [p.native(operand) for operand in op.operands])
        p.keep(op, text, reads)
        return
    if type(op) not in p.language.rules:
        raise p.refuse(op, "has no rule for it")
    scalar = on_scalars(type(op), op, len(op.operands), element)
    taken = [p.take_lanes(operand, count) for operand in op.operands]
    rows = zip(*([tight(text) for text in lanes] for lanes, _ in taken), strict=True)
    texts = [p.language.expression(scalar, list(row)) for row in rows]
    p.keep_lanes(result, texts, NOTHING.union(*(reads for _, reads in taken)))


def _is_native(p: KernelPrinter, operand: SSAValue, count: int) -> bool:
    type_ = operand.type
    if not is_vector(type_) or count_of(type_) != count:
        return False
    return p.gpu.computes_vectors(element_type(type_), count)


def constant(p: KernelPrinter, op: arith.ConstantOp) -> None:
    """arith.constant dense<..> : vector<4xf32>  ->  a literal for each lane"""
    assert isinstance(op.value, DenseIntOrFPElementsAttr), "vectors have dense constants"
    element, count = element_type(op.result), count_of(op.result)
    p.check_type(op, element)
    numbers: list[Any] = list(op.value.get_values())
    numbers = numbers * count if len(numbers) == 1 else numbers
    p.lanes[op.result] = [p.language.literal(number, element) for number in numbers]


def broadcast(p: KernelPrinter, op: vector.BroadcastOp) -> None:
    """vector.broadcast %x  ->  the same word on all lanes"""
    p.lanes[op.results[0]] = p.lane_texts(op.source, count_of(op.results[0]))


def extract(p: KernelPrinter, op: vector.ExtractOp) -> None:
    """vector.extract %v[1]  ->  that lane"""
    (position,) = op.static_position.get_values()
    if op.dynamic_position:
        raise p.refuse(op, "has no lanes that are chosen at run time")
    p.words[op.result] = p.lane_texts(op.vector, count_of(op.vector))[position]


def insert(p: KernelPrinter, op: vector.InsertOp) -> None:
    """vector.insert %x, %v[1]  ->  the lanes of %v but one"""
    (position,) = op.static_position.get_values()
    if op.dynamic_position:
        raise p.refuse(op, "has no lanes that are chosen at run time")
    lanes = list(p.lane_texts(op.dest, count_of(op.dest)))
    lanes[position] = p.stable(op.source)
    p.lanes[op.result] = lanes


def shuffle(p: KernelPrinter, op: vector.ShuffleOp) -> None:
    """vector.shuffle %a, %b [0, 5]  ->  those lanes"""
    lanes = [lane for v in (op.v1, op.v2) for lane in p.lane_texts(v, count_of(v))]
    p.lanes[op.results[0]] = [lanes[k] for k in op.mask.get_values()]


def reduction(p: KernelPrinter, op: vector.ReductionOp) -> None:
    """vector.reduction <add>, %v  ->  lane 0 + lane 1 + .."""
    element = element_type(op.operands[0])
    kind = op.kind.data
    combine = SUMS[kind][not isinstance(element, AnyFloat)] if kind in SUMS else COMBINERS[kind]
    scalar = on_scalars(combine, op, 2, element)
    lanes = p.lane_texts(op.operands[0], count_of(op.operands[0]))
    texts = [p.stable(acc) for acc in op.operands[1:]] + list(lanes)
    total = texts[0]
    for text in texts[1:]:
        total = p.language.expression(scalar, [f"({total})" if " " in total else total, text])
    p.keep(op, total)


def load(p: KernelPrinter, op: loop.LoadOp) -> None:
    """loop.load %m[%i] : .., vector<4xf32>  ->  one vector, several, or each element"""
    element, count = element_type(op.memref), count_of(op.accessed)
    p.check_type(op, element)
    if op.memref in p.of_vectors:
        name = variable(p, op)
        p.keep(op, name, frozenset({name}))
        return
    if op.memref in p.variables and is_fixed(op):
        start = linear(flat(op)).constant
        names = [p.element(op.memref, str(start + k * op.step)) for k in range(count)]
        p.wait(op.result, names, frozenset(names))
        return
    indices = p.indices(op.indices)
    buffer, place = p.buffers[op.memref], flat(op)
    at_once = _at_once(p, buffer, element, count)
    aligned = is_aligned(place, at_once, buffer)
    conditions = _conditions(p, op, count) if op.step == 1 and at_once > 1 else None
    if conditions is None or not p.gpu.moves(buffer, at_once, aligned=aligned):
        _load_lanes(p, op, count)
        return
    if at_once == count and p.gpu.computes_vectors(element, count):
        offset = p.place(buffer, indices.text(place))
        text = p.gpu.read_vector(buffer, offset, count, aligned=aligned)
        p.keep(op, _where(p, op, conditions, text, count), MEMORY)
        return
    lanes: list[str] = []
    for first in range(0, count, at_once):
        offset = p.place(buffer, indices.text(place + first))
        text = p.gpu.read_vector(buffer, offset, at_once, aligned=aligned)
        text = _where(p, op, conditions, text, at_once)
        name = p.names.fresh(op.result.name_hint, "v")
        p.say(p.language.define(name, vector_type(at_once, element), text))
        p.vectors[name] = at_once
        lanes += [p.gpu.lane(name, k) for k in range(at_once)]
    p.lanes[op.result] = lanes


def variable(p: KernelPrinter, op: loop.LoadOp | loop.StoreOp) -> str:
    """Return the variable that a vector of a buffer is in."""
    number = linear(flat(op)).constant // p.of_vectors[op.memref]
    return f"{p.variables[op.memref]}{number}"


def _at_once(p: KernelPrinter, buffer: Buffer | None, element: Attribute, count: int) -> int:
    """Return how many lanes are read or written at once: those of an array of vectors."""
    if buffer is not None and buffer.lanes > 1:
        return buffer.lanes
    return p.gpu.lanes_at_once(element, count)


def _conditions(p: KernelPrinter, op: loop.LoadOp, count: int) -> list[str] | None:
    """Return the tests for all lanes of a load to be in its buffer; None if each needs its own."""
    if op.default is None:
        return []
    shape, indices = shape_of(op.memref), p.indices(op.indices)
    first, last = (indices.inside(shape, _at_lane(op, k)) for k in (0, count - 1))
    if first == [] and last == []:
        return []
    dimension, _ = lane_dimension(shape, op.step) or (len(shape) - 1, op.step)
    form = linear(op.map.data.results[dimension])
    together = gcd(shape[dimension], form.constant, *form.terms.values()) % count == 0
    return first if together else None


def _where(p: KernelPrinter, op: loop.LoadOp, conditions: list[str], text: str, lanes: int) -> str:
    """Return a vector, or one of the load's `or` values where a test does not hold."""
    if not conditions:
        return text
    assert op.default is not None, "there is no test without a value for where it fails"
    element = element_type(op.memref)
    default = p.language.literal(scalar_value(op.default), element)
    other = p.gpu.vector(element, [default] * lanes)
    return p.language.choose(" && ".join(conditions), text, other)


def _at_lane(op: loop.LoadOp, number: int) -> list[AffineExpr]:
    """Return the indices of a lane."""
    shape, results = shape_of(op.memref), list(op.map.data.results)
    dimension, step = lane_dimension(shape, op.step) or (len(shape) - 1, op.step)
    results[dimension] = results[dimension] + number * step
    return results


def divisor(numbers: Sequence[int]) -> int:
    """Return the greatest common divisor of numbers of elements, of which 0 is no limit."""
    return gcd(*numbers)


def is_aligned(place: AffineExpr, lanes: int, buffer: Buffer) -> bool:
    """Return whether a place is a multiple of so many elements, whatever the indices are."""
    form = linear(place)
    return gcd(form.constant, buffer.aligned, *form.terms.values()) % lanes == 0


def _load_lanes(p: KernelPrinter, op: loop.LoadOp, count: int) -> None:
    p.bind_lanes(op.result, [guarded(p, op, _at_lane(op, k)) for k in range(count)])


def guarded(p: KernelPrinter, op: loop.LoadOp, results: list[AffineExpr]) -> str:
    """Return an element, or the default where its place is outside."""
    indices, shape = p.indices(op.indices), shape_of(op.memref)
    if op.default is None:
        return p.element(op.memref, indices.offset(shape, results))
    default = p.language.literal(scalar_value(op.default), element_type(op.memref))
    conditions = indices.inside(shape, results)
    if conditions is None:
        return default
    text = p.element(op.memref, indices.offset(shape, results))
    return p.language.choose(" && ".join(conditions), text, default) if conditions else text


def store(p: KernelPrinter, op: loop.StoreOp) -> None:
    """loop.store %v, %m[%i] : .., vector<4xf32>  ->  one vector, several, or each element"""
    element, count = element_type(op.memref), count_of(op.value)
    p.check_type(op, element)
    if op.memref in p.of_vectors:
        name, text = variable(p, op), p.native(op.value, tight=False)
        p.before_a_write(frozenset({name}))
        p.set_variable(name, text)
        return
    indices, place = p.indices(op.indices), flat(op)
    buffer = p.buffers.get(op.memref)
    at_once = _at_once(p, buffer, element, count)
    aligned = buffer is not None and is_aligned(place, at_once, buffer)
    whole = op.step == 1 and at_once > 1
    if buffer is None or not whole or not p.gpu.moves(buffer, at_once, aligned=aligned):
        _store_lanes(p, op, count)
        return
    if at_once == count and p.gpu.computes_vectors(element, count):
        values = [p.native(op.value, tight=False)]
    else:
        lanes = p.lane_texts(op.value, count)
        parts = range(0, count, at_once)
        values = [p.vector(element, lanes[k : k + at_once]) for k in parts]
    p.before_a_write()
    for k, text in enumerate(values):
        offset = p.place(buffer, indices.text(place + k * at_once))
        p.say(p.gpu.write_vector(buffer, offset, at_once, text, aligned=aligned))


def _store_lanes(p: KernelPrinter, op: loop.StoreOp, count: int) -> None:
    """Write each lane; p.buffers lacks what is in variables."""
    texts, reads = p.take_lanes(op.value, count)
    indices, place = p.indices(op.indices), flat(op)
    offsets = [indices.text(place + k * op.step) for k in range(count)]
    written = [p.place_of(op.memref, offset) for offset in offsets]
    p.before_a_write(NOTHING.union(*written))
    if reads and any(_words(texts[k]) & NOTHING.union(*written[:k]) for k in range(count)):
        texts = [p.copied(op.value, text) for text in texts]
    for offset, text in zip(offsets, texts, strict=True):
        p.assign(op.memref, offset, text)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def grouped(language: GpuLanguage, value: SSAValue, aligned: int) -> int:
    """Return how many lanes a buffer's elements have if it is an array of vectors, else 1."""
    uses = [use.operation for use in value.uses]
    accesses = [use for use in uses if isinstance(use, loop.LoadOp | loop.StoreOp)]
    if not accesses or len(accesses) < len(uses):
        return 1
    element = element_type(value)
    as_one = Buffer("", element, 0, Space.GLOBAL, aligned=aligned)
    for lanes in language.groups:
        if language.vector_word(element, lanes) is not None and all(
            _fits(access, lanes, as_one) for access in accesses
        ):
            return lanes
    return 1


def _fits(access: loop.LoadOp | loop.StoreOp, lanes: int, buffer: Buffer) -> bool:
    """Return whether an access is of whole vectors of so many lanes."""
    count = lanes_of(access.accessed) or 1
    guarded = isinstance(access, loop.LoadOp) and access.default is not None
    if count % lanes or access.step != 1 or guarded:
        return False
    return is_aligned(flat(access), lanes, buffer)


def gather(p: KernelPrinter, op: loop.GatherOp) -> None:
    """loop.gather 4 %m[%i, %j]  ->  an element for each lane"""
    shape, element = shape_of(op.memref), element_type(op.memref)
    lanes = [p.lane_texts(index, op.lanes) for index in op.indices]
    texts: list[str] = []
    for row in zip(*lanes, strict=True):
        names = [p.named_index(p.gpu.to_index(text, element_type(op.indices[0]))) for text in row]
        terms = [_term(name, shape, axis) for axis, name in enumerate(names)]
        text = p.element(op.memref, " + ".join(terms))
        if op.default is not None:
            sides = [f"{n} >= 0 && {n} < {s}" for n, s in zip(names, shape, strict=True)]
            default = p.language.literal(scalar_value(op.default), element)
            text = p.language.choose(" && ".join(sides), text, default)
        texts.append(text)
    p.bind_lanes(op.result, texts)


def _term(name: str, shape: tuple[int, ...], axis: int) -> str:
    factor = 1
    for size in shape[axis + 1 :]:
        factor *= size
    return name if factor == 1 else f"{factor} * {name}"
