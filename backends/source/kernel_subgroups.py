"""Statements of kernels in which the threads of a subgroup pass values to each other."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, i1, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from nn_opt.backends.source.kernel_printer import KernelPrinter
from nn_opt.backends.source.printer import Statement
from nn_opt.dialects import gpu

Kind = gpu.Reduction
COMBINERS: dict[Kind, tuple[type[Operation], type[Operation]]] = {
    Kind.Add: (arith.AddfOp, arith.AddiOp),
    Kind.Mul: (arith.MulfOp, arith.MuliOp),
    Kind.MinUI: (arith.MinUIOp, arith.MinUIOp),
    Kind.MinSI: (arith.MinSIOp, arith.MinSIOp),
    Kind.MinNumF: (arith.MinnumfOp, arith.MinnumfOp),
    Kind.MaxUI: (arith.MaxUIOp, arith.MaxUIOp),
    Kind.MaxSI: (arith.MaxSIOp, arith.MaxSIOp),
    Kind.MaxNumF: (arith.MaxnumfOp, arith.MaxnumfOp),
    Kind.And: (arith.AndIOp, arith.AndIOp),
    Kind.Or: (arith.OrIOp, arith.OrIOp),
    Kind.Xor: (arith.XOrIOp, arith.XOrIOp),
    Kind.MinimumF: (arith.MinimumfOp, arith.MinimumfOp),
    Kind.MaximumF: (arith.MaximumfOp, arith.MaximumfOp),
}


def combine(p: KernelPrinter, kind: Kind, type_: Attribute, left: str, right: str) -> str:
    """Return two values combined."""
    op = COMBINERS[kind][not isinstance(type_, AnyFloat)]
    scalar = op.create(operands=Block(arg_types=[type_, type_]).args, result_types=[type_])
    return p.language.expression(scalar, [left, right])


def _require(p: KernelPrinter, op: Operation, type_: Attribute) -> None:
    """Check that values of a type can be passed from lane to lane.

    Raises: PassFailedException if they cannot, or nobody knows how many lanes there are.
    """
    _width(p, op)
    if not p.gpu.can_shuffle(type_):
        raise p.refuse(op, f"passes no {type_} from lane to lane", "reduce it in shared memory")


def _width(p: KernelPrinter, op: Operation) -> int:
    """Return the number of lanes of a subgroup."""
    if not p.subgroup:
        hint = "compile for a target with a known width, such as cuda"
        raise p.refuse(op, "does not know how wide a subgroup is", hint)
    return p.subgroup


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _name(p: KernelPrinter, value: SSAValue, type_: Attribute, text: str) -> None:
    p.say(p.language.define(p.name(value), type_, text))


def _lane(p: KernelPrinter) -> str:
    """Name this thread's lane."""
    return p.copied_index("lane", p.gpu.lane_id(p.block_size))


def shuffle(p: KernelPrinter, op: gpu.ShuffleOp) -> None:
    """gpu.shuffle xor %x, %offset, %width  ->  a lane's value, and whether there is the lane"""
    p.before_a_region()
    _require(p, op, op.value.type)
    value, width = p.stable(op.value), _constant(op.width)
    offset, mode = _constant(op.offset), op.mode.data
    if mode is gpu.ShuffleMode.Xor and width and offset is not None and 0 <= offset < width:
        text = p.gpu.shuffle_xor(value, str(offset), op.value.type)
        _name(p, op.result, op.value.type, text)
        p.words[op.valid] = p.language.literal(1, i1)
        return
    lane, by, group = _lane(p), p.stable(op.offset), p.stable(op.width)
    first = p.copied_index("first", f"{lane} / {group} * {group}")
    other = {
        gpu.ShuffleMode.Xor: f"{lane} ^ {by}",
        gpu.ShuffleMode.Down: f"{lane} + {by}",
        gpu.ShuffleMode.Up: f"{lane} - {by}",
        gpu.ShuffleMode.Idx: f"{first} + {by}",
    }[mode]
    _take_from(p, op, p.copied_index("other", other), lane, first, group)


def _take_from(
    p: KernelPrinter,
    op: gpu.ShuffleOp | gpu.RotateOp,
    other: str,
    lane: str,
    first: str,
    group: str,
) -> None:
    """Name the value of another lane, or its own where there is none in the group."""
    inside = f"{other} >= {first} && {other} < {first} + {group}"
    _name(p, op.valid, i1, inside)
    source = p.copied_index("source", p.language.choose(p.words[op.valid], other, lane))
    text = p.gpu.shuffle(p.stable(op.value), source, op.value.type)
    _name(p, op.result, op.value.type, text)


def rotate(p: KernelPrinter, op: gpu.RotateOp) -> None:
    """gpu.rotate %x, 1, 8  ->  the value of the next lane, around groups of eight"""
    p.before_a_region()
    _require(p, op, op.value.type)
    lane, group = _lane(p), str(op.width.value.data)
    first = p.copied_index("first", f"{lane} / {group} * {group}")
    other = f"{first} + ({lane} + {op.offset.value.data}) % {group}"
    _take_from(p, op, p.copied_index("other", other), lane, first, group)


def reduce_lanes(p: KernelPrinter, op: gpu.SubgroupReduceOp) -> None:
    """gpu.subgroup_reduce add %x  ->  x + the value of lane ^ 16, of lane ^ 8, ..."""
    p.before_a_region()
    type_ = op.value.type
    _require(p, op, type_)
    value, size = p.stable(op.value), op.size or p.subgroup
    word = p.name(op.result)
    p.say(p.language.define_variables([word], type_))
    p.say(f"{word} = {value};")
    distance = size // 2 * op.stride
    while distance >= op.stride:
        other = p.gpu.shuffle_xor(word, str(distance), type_)
        p.say(f"{word} = {combine(p, op.op.data, type_, word, other)};")
        distance //= 2


def broadcast(p: KernelPrinter, op: gpu.SubgroupBroadcastOp) -> None:
    """gpu.subgroup_broadcast %x, specific_lane %l  ->  that lane's value"""
    p.before_a_region()
    _require(p, op, op.src.type)
    lane = "0" if op.lane is None else p.stable(op.lane)
    text = p.gpu.shuffle(p.stable(op.src), lane, op.src.type)
    _name(p, op.result, op.src.type, text)


def ballot(p: KernelPrinter, op: gpu.BallotOp) -> None:
    """gpu.ballot %c  ->  a bit for each lane"""
    p.before_a_region()
    if op.result.type != i32:
        raise p.refuse(op, "has ballots of 32 lanes alone", "let the result be i32")
    _require(p, op, i32)
    _name(p, op.result, i32, p.gpu.ballot(p.stable(op.predicate)))


def lane_id(p: KernelPrinter, op: gpu.LaneIdOp) -> None:
    if not op.result.uses:
        return
    p.ranges[op.result] = (0, _width(p, op) - 1)
    p.say(p.language.define(p.name(op.result), IndexType(), p.gpu.lane_id(p.block_size)))


def number(p: KernelPrinter, op: gpu.InSubgroup) -> None:
    """The numbers that follow from the width of a subgroup, where that is known."""
    width = _width(p, op)
    match op:
        case gpu.SubgroupSizeOp():
            p.words[op.result], p.ranges[op.result] = str(width), (width, width)
        case gpu.NumSubgroupsOp():
            count = -(-prod(p.block_size) // width)
            p.words[op.result], p.ranges[op.result] = str(count), (count, count)
        case _:
            p.ranges[op.result] = (0, -(-prod(p.block_size) // width) - 1)
            linear = p.gpu.thread_number(p.block_size)
            text = f"({linear}) / {width}"
            p.say(p.language.define(p.name(op.result), IndexType(), text))


STATEMENTS: dict[type[Operation], Statement] = {
    gpu.ShuffleOp: shuffle,
    gpu.RotateOp: rotate,
    gpu.SubgroupReduceOp: reduce_lanes,
    gpu.SubgroupBroadcastOp: broadcast,
    gpu.BallotOp: ballot,
    gpu.LaneIdOp: lane_id,
    gpu.SubgroupIdOp: number,
    gpu.NumSubgroupsOp: number,
    gpu.SubgroupSizeOp: number,
}
