"""What no barrier can help: threads that write one element at once, blocks that share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import gpu, loop
from nn_opt.ir.diagnostics import Complaints, diagnose, note_at
from nn_opt.ir.types import memory_space, shape_of
from nn_opt.passes.thread_conflicts import Answer, Counter, Meeting, Relation
from nn_opt.passes.thread_touches import Reader, Terms, Touch

FEW = 2  # blocks along each dimension that are looked at
FEW_PLACES = 1 << 18  # that are counted through for that


@dataclass(frozen=True)
class Names:
    """Words for threads and elements."""

    kernel: gpu.FuncOp

    def actor(self, number: int, sizes: Sequence[int]) -> str:
        """Return the coordinates of a thread or block, of those that have more than one value."""
        wide = [size for size in sizes if size > 1]
        found: list[str] = []
        for size in wide:
            found.append(str(number % size))
            number //= size
        return f"({', '.join(found)})" if len(found) > 1 else "".join(found)

    def thread(self, number: int) -> str:
        """Return which thread it is."""
        return self.actor(number, self.kernel.block or ())

    def block(self, number: int) -> str:
        """Return which block it is."""
        return self.actor(number, self.kernel.grid or ())


def name_of(buffer: SSAValue) -> str:
    """Return how to call a buffer."""
    if isinstance(buffer.owner, loop.AllocOp):
        return repr(buffer.owner.buffer.data)
    return f"%{buffer.name_hint or '?'}"


def element_of(buffer: SSAValue, offset: int) -> str:
    """Return the indices of an element as `[1, 2]`."""
    indices: list[str] = []
    for size in reversed(shape_of(buffer)):
        indices.append(str(offset % size))
        offset //= size
    return f"[{', '.join(reversed(indices))}]"


def refuse_hazard(first: Touch, second: Touch, meeting: Meeting, names: Names) -> NoReturn:
    """Refuse two accesses that need a barrier between them where none can be."""
    does, did = ("writes" if touch.writes else "reads" for touch in (second, first))
    if meeting.answer is Answer.YES:
        one, two = (names.thread(number) for number in meeting.threads)
        where = f"{name_of(second.root)}{element_of(second.root, meeting.element)}"
        problem = f"thread {two} {does} {where} after thread {one} {did} it"
    else:
        problem = f"a thread {does} {name_of(second.root)} after another one {did} it, perhaps"
    problem += ", and not all threads come here to wait for each other"
    hint = "let as many iterations as the block has threads run the loops around both accesses"
    _refuse(second, problem, hint, first)


def _refuse(touch: Touch, problem: str, hint: str, other: Touch | None = None) -> NoReturn:
    notes = () if other is None else (note_at(other.op, "the other access is here"),)
    diagnostic = diagnose(touch.op, problem, hint=hint, notes=notes)
    raise PassFailedException(Complaints([diagnostic]))


def refuse_races(reader: Reader, touches: Mapping[Operation, Sequence[Touch]]) -> None:
    """Refuse elements that two threads write at once, or that several blocks share.

    Raises: PassFailedException at the access.
    """
    every = [touch for found in touches.values() for touch in found if touch.place is not None]
    names = Names(reader.kernel)
    threads = Counter(reader.extents, reader.actors(gpu.ThreadIdOp))
    blocks = _some_blocks(reader)
    for touch in every:
        if touch.writes and not touch.atomic:
            _refuse_one_statement(threads, touch, names)
            if memory_space(touch.root) == "global" and blocks.actors:
                _refuse_several_blocks(blocks, touch, names)
    for touch in every:
        if not touch.writes and memory_space(touch.root) == "global" and blocks.actors:
            _refuse_read(blocks, touch, [t for t in every if t.root is touch.root], names)


def _some_blocks(reader: Reader) -> Counter:
    """Return what counts through few blocks, and all of their threads."""
    actors = reader.actors(gpu.BlockIdOp)
    few = {value: min(reader.extents[value], FEW) for value in actors}
    return Counter({**reader.extents, **few}, actors, budget=FEW_PLACES)


def _refuse_one_statement(counter: Counter, touch: Touch, names: Names) -> None:
    """Refuse a store by which two threads write different values to one element at once."""
    fixed = [
        value
        for value in counter.variables(touch)
        if value in touch.indices or isinstance(value.owner, gpu.BlockIdOp)
    ]
    meeting = counter.meet(touch, touch, dict.fromkeys(fixed, Relation.SAME))
    if meeting.answer is Answer.YES and _values_differ(counter, touch, fixed):
        one, two = (names.thread(number) for number in meeting.threads)
        where = f"{name_of(touch.root)}{element_of(touch.root, meeting.element)}"
        problem = f"threads {one} and {two} write different values to {where}"
        _refuse(touch, problem, "let each thread write elements of its own")


def _refuse_several_blocks(counter: Counter, touch: Touch, names: Names) -> None:
    """Refuse a store by which two blocks write different values to one element."""
    meeting = counter.meet(touch, touch, {})
    if meeting.answer is Answer.YES and _values_differ(counter, touch, []):
        one, two = (_block(counter, names, number) for number in meeting.threads)
        where = f"{name_of(touch.root)}{element_of(touch.root, meeting.element)}"
        problem = f"blocks {one} and {two} write different values to {where}"
        _refuse(touch, problem, "let each block write elements of its own")


def _refuse_read(counter: Counter, read: Touch, others: Sequence[Touch], names: Names) -> None:
    """Refuse a load of what another block writes, and the block itself does not."""
    writes = [touch for touch in others if touch.writes]
    found = counter.foreign(read, writes)
    if found.answer is Answer.YES:
        one, two = (_block(counter, names, number) for number in found.threads)
        where = f"{name_of(read.root)}{element_of(read.root, found.element)}"
        problem = f"block {one} reads {where}, which block {two} writes, and nothing orders blocks"
        hint = "compute both stages in nests of their own: each becomes a kernel"
        _refuse(read, problem, hint, writes[0])


def _block(counter: Counter, names: Names, number: int) -> str:
    sizes = [counter.extents[actor] for actor in reversed(counter.actors)]
    return names.actor(number, sizes)


def _values_differ(counter: Counter, touch: Touch, fixed: Sequence[SSAValue]) -> bool:
    """Return whether a store surely writes different values to an element."""
    answers = list(_answers(counter, touch, fixed))
    return Answer.YES in answers and Answer.PERHAPS not in answers


def writes_the_same(counter: Counter, touch: Touch) -> bool:
    """Return whether all that a store ever writes to an element is surely the same."""
    return all(answer is Answer.NO for answer in _answers(counter, touch, []))


def _answers(counter: Counter, touch: Touch, fixed: Sequence[SSAValue]) -> Iterator[Answer]:
    """Yield whether what a stored value comes from varies, where one element is written."""
    assert isinstance(touch.op, loop.StoreOp)
    for terms in _sources(touch.op.value, counter):
        yield Answer.PERHAPS if terms is None else counter.varies(touch, terms, fixed)


def _sources(value: SSAValue, counter: Counter) -> Iterator[Terms | None]:
    """Yield the places and ids that a value is computed from; None for what is not known."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if value in counter.extents:
            yield AffineExpr.dimension(0), (value,)
        elif isinstance(owner, loop.LoadOp):
            yield _place_of(owner, counter)
        elif isinstance(owner, Operation) and is_side_effect_free(owner):
            pending += owner.operands
        else:
            yield None


def _place_of(load: loop.LoadOp, counter: Counter) -> Terms | None:
    """Return where a load of global or shared memory reads; None for what each thread has."""
    if memory_space(load.memref) not in ("global", "shared"):
        return None
    if any(index not in counter.extents for index in load.indices):
        return None
    place = AffineExpr.constant(0)
    for expr, size in zip(load.map.data.results, shape_of(load.memref), strict=True):
        place = place * size + expr
    return place, tuple(load.indices)
