"""Whether two accesses of different threads can meet, by counting through all that they touch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.ir.types import shape_of
from nn_opt.passes.thread_periods import period_of
from nn_opt.passes.thread_touches import Terms, Touch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.signedinteger[Any]]

BUDGET = 1 << 21  # places that one access is counted through
DENSE = 1 << 22  # elements of a table that is filled, not sorted


class Relation(Enum):
    """How the iterations of a loop around two accesses are related."""

    SAME = auto()
    NEXT = auto()  # the second access is one iteration later
    ANY = auto()


class Answer(Enum):
    """Whether threads meet."""

    NO = auto()
    YES = auto()
    PERHAPS = auto()  # it depends on data, or there is too much to count


@dataclass(frozen=True)
class Meeting:
    """An answer; the element and the two threads of which it is true, if they are known."""

    answer: Answer
    element: int = -1
    threads: tuple[int, int] = (-1, -1)

    def __bool__(self) -> bool:
        return self.answer is not Answer.NO


NEVER = Meeting(Answer.NO)
UNSURE = Meeting(Answer.PERHAPS)


@dataclass
class Counter:
    """Counts through accesses of one kernel; `extents` are the numbers of values of variables.

    actors: the ids that tell apart who must not meet, slowest first: threads, or blocks.
    """

    extents: Mapping[SSAValue, int]
    actors: Sequence[SSAValue]
    budget: int = BUDGET
    cache: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def meet(self, first: Touch, second: Touch, relations: Mapping[SSAValue, Relation]) -> Meeting:
        """Return whether two actors can touch one element, one by each access.

        relations: of the variables that both accesses may have; others are free in each.
        """
        if first.place is None or second.place is None:
            return UNSURE
        common = [v for v in self.variables(first, second) if v in relations]
        # Fewer values of blocks, and without the tests of what is left out, may say no already.
        plans = [
            self._plan(first.place, second.place, common, relations, bare=bare)
            for bare in (True, False)
        ]
        meeting = UNSURE
        for plan in plans if plans[0] != plans[1] else plans[1:]:
            meeting = UNSURE if plan is None else self._meet(first, second, plan)
            if not meeting:
                break
        return meeting

    def _meet(
        self, first: Touch, second: Touch, plan: Mapping[SSAValue, tuple[int, int]]
    ) -> Meeting:
        """Return whether two actors touch one element, as far as a plan counts."""
        one = self._table(first, plan, moved=False)
        two = self._table(second, plan, moved=True)
        if one is None or two is None:
            return UNSURE
        meeting = one.meets(two)
        return replace(meeting, element=meeting.element % elements_of(first)) if meeting else NEVER

    def foreign(self, read: Touch, writes: Sequence[Touch]) -> Meeting:
        """Return whether an actor reads what another one writes, and it does not itself."""
        import numpy as np

        spreads = [self._spread(touch, {}, moved=False) for touch in (read, *writes)]
        known = [spread for spread in spreads if spread is not None]
        if len(known) < len(spreads) or any(touch.place is None for touch in writes):
            return UNSURE
        places, actors = (np.concatenate(parts) for parts in zip(*known[1:], strict=True))
        wanted, readers = known[0]
        count = math.prod(self.extents[actor] for actor in self.actors)
        strange = ~np.isin(wanted * count + readers, places * count + actors)
        strange &= np.isin(wanted, places)
        if not strange.any():
            return NEVER
        k = int(np.argmax(strange))
        writer = int(actors[np.argmax(places == wanted[k])])
        return Meeting(Answer.YES, int(wanted[k]), (int(readers[k]), writer))

    def varies(self, touch: Touch, terms: Terms, fixed: Sequence[SSAValue]) -> Answer:
        """Return whether an expression has several values where an access touches one element."""
        import numpy as np

        assert touch.place is not None
        free = dict.fromkeys([*self.actors, *touch.place[1], *terms[1]])
        axes = [value for value in free if value not in fixed]
        sizes = [*(self.extents[value] for value in axes), touch.lanes]
        if math.prod(sizes) > self.budget:
            return Answer.PERHAPS
        grids = np.meshgrid(*(np.arange(n) for n in sizes), indexing="ij", sparse=True)
        values: dict[SSAValue, Any] = dict(zip(axes, grids[:-1], strict=True))
        place = evaluate(touch.place, values) + grids[-1] * touch.step
        lane = grids[-1] * touch.step  # of vectors, each lane has a value of its own
        result = evaluate(terms, values) + lane
        allowed = self._allowed(touch.tests, values)
        arrays = [np.broadcast_to(a, sizes).reshape(-1) for a in (place, result)]
        if allowed is not None:
            chosen = np.broadcast_to(allowed, sizes).reshape(-1)
            arrays = [a[chosen] for a in arrays]
        order = np.lexsort(arrays[::-1])
        place, result = (a[order] for a in arrays)
        several = (place[1:] == place[:-1]) & (result[1:] != result[:-1])
        return Answer.YES if several.any() else Answer.NO

    def variables(self, *touches: Touch) -> list[SSAValue]:
        """Return what places depend on, apart from the actors."""
        used = (value for touch in touches if touch.place for value in touch.place[1])
        return [value for value in dict.fromkeys(used) if value not in self.actors]

    def _plan(
        self,
        first: Terms,
        second: Terms,
        common: Iterable[SSAValue],
        relations: Mapping[SSAValue, Relation],
        *,
        bare: bool,
    ) -> dict[SSAValue, tuple[int, int]] | None:
        """Return (values to count, shift of the second access) of common variables.

        One value does for a variable that adds the same to both places. None if it cannot be told
        how many values do. bare: so it does for one of whose quotients that is true.
        """
        plan: dict[SSAValue, tuple[int, int]] = {}
        for value in common:
            relation = relations[value]
            if relation is Relation.ANY:
                continue
            shift = int(relation is Relation.NEXT)
            period = period_of(first, second, value, bare=bare and not shift)
            most = self.extents[value] - shift
            plan[value] = (max(min(period or most, most), 1), shift)
        return plan

    def _table(
        self, touch: Touch, plan: Mapping[SSAValue, tuple[int, int]], *, moved: bool
    ) -> Table | None:
        """Return which actors touch which element by an access."""
        key = touch, tuple(plan.items()), moved
        if key not in self.cache:
            spread = self._spread(touch, plan, moved=moved)
            self.cache[key] = None if spread is None else Table.of(*spread)
        return self.cache[key]

    def _spread(
        self, touch: Touch, plan: Mapping[SSAValue, tuple[int, int]], *, moved: bool
    ) -> tuple[Numbers, Numbers] | None:
        """Return the element and the actor of each access; elements apart for common variables."""
        import numpy as np

        assert touch.place is not None
        actors = list(self.actors)
        common = [value for value in plan if plan[value][0] > 1]
        own = [v for v in self.variables(touch) if v not in plan]
        axes = [*actors, *common, *own]
        sizes = [
            *(self.extents[v] for v in actors),
            *(plan[v][0] for v in common),
            *(self.extents[v] for v in own),
            touch.lanes,
        ]
        if math.prod(sizes) > self.budget:
            return None
        grids = np.meshgrid(*(np.arange(n) for n in sizes), indexing="ij", sparse=True)
        values: dict[SSAValue, Any] = dict(zip(axes, grids[:-1], strict=True))
        for value, (_, shift) in plan.items():
            values[value] = values.get(value, 0) + (shift if moved else 0)
        place = evaluate(touch.place, values) + grids[-1] * touch.step
        actor, apart = _row_major(actors, values, self.extents), np.int64(0)
        for k in range(len(common)):
            apart = apart * sizes[len(actors) + k] + grids[len(actors) + k]
        allowed = self._allowed(touch.tests, values)
        shape = tuple(sizes)
        spread = [np.broadcast_to(a, shape).reshape(-1) for a in (place, actor, apart)]
        if allowed is not None:
            chosen = np.broadcast_to(allowed, shape).reshape(-1)
            spread = [a[chosen] for a in spread]
        elements = spread[0] if not common else spread[0] + spread[2] * elements_of(touch)
        return elements, spread[1]

    def _allowed(self, tests: Sequence[Terms], values: Mapping[SSAValue, Any]) -> Any:
        """Return where the tests hold that the counted variables decide alone."""
        found: Any = None
        for expr, used in tests:
            free = {used[k] for k in expr.used_dims()}
            if free <= values.keys() and not any(self._is_cut(v, values) for v in free):
                holds = evaluate((expr, used), values) >= 0
                found = holds if found is None else found & holds
        return found

    def _is_cut(self, value: SSAValue, values: Mapping[SSAValue, Any]) -> bool:
        """Return whether not all values of a variable are counted."""
        import numpy as np

        return np.size(values[value]) < self.extents[value]


def _row_major(
    ids: Sequence[SSAValue], values: Mapping[SSAValue, Any], extents: Mapping[SSAValue, int]
) -> Any:
    import numpy as np

    number: Any = np.int64(0)
    for value in ids:
        number = number * extents[value] + values[value]
    return number


@dataclass(frozen=True)
class Table:
    """The least and the greatest actor of each element from `start` on; -1 where there is none.

    keys: the elements, in order, if they are too far apart for a table of all between them.
    """

    start: int
    low: Numbers
    high: Numbers
    keys: Numbers | None = None

    @classmethod
    def of(cls, places: Numbers, actors: Numbers) -> Table:
        """Return the table of accesses, whose actors are in order."""
        import numpy as np

        if not places.size:
            return cls(0, places, actors)
        start, keys = int(places.min()), None
        count = int(places.max()) - start + 1
        at = places - start
        if count > DENSE:
            keys, at = np.unique(places, return_inverse=True)
            at, count = at.reshape(-1), keys.size
        low, high = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        high[at] = actors  # of several that are put in one place, the last one stays
        low[at[::-1]] = actors[::-1]
        return cls(start, low, high, keys)

    def meets(self, other: Table) -> Meeting:
        """Return whether an element has different actors in two tables."""
        import numpy as np

        if not self.low.size or not other.low.size:
            return NEVER
        elements, mine, others = self._overlap(other)
        low, high = self.low[mine], self.high[mine]
        bottom, top = other.low[others], other.high[others]
        apart = (high >= 0) & (top >= 0) & ((low != top) | (high != bottom))
        if not apart.any():
            return NEVER
        k = int(np.argmax(apart))
        pair = (low[k], top[k]) if low[k] != top[k] else (high[k], bottom[k])
        return Meeting(Answer.YES, int(elements[k]), (int(pair[0]), int(pair[1])))

    def _overlap(self, other: Table) -> tuple[Any, Any, Any]:
        """Return the elements that both tables have, and where they are in each."""
        import numpy as np

        if self.keys is not None or other.keys is not None:
            return np.intersect1d(
                self.all_keys(), other.all_keys(), assume_unique=True, return_indices=True
            )
        first = max(self.start, other.start)
        last = min(self.start + self.low.size, other.start + other.low.size)
        mine, others = (slice(first - t.start, max(last, first) - t.start) for t in (self, other))
        return range(first, max(last, first)), mine, others

    def all_keys(self) -> Numbers:
        """Return the elements of a table."""
        import numpy as np

        if self.keys is not None:
            return self.keys
        return np.arange(self.start, self.start + self.low.size)


def elements_of(touch: Touch) -> int:
    """Return how many elements the buffer has."""
    return max(math.prod(shape_of(touch.root)), 1)


def evaluate(terms: Terms, values: Mapping[SSAValue, Any]) -> Any:
    """Return an expression's value, or array of values."""
    expr, used = terms
    return _evaluate(expr, [values.get(value, 0) for value in used])


def _evaluate(expr: AffineExpr, values: Sequence[Any]) -> Any:
    match expr:
        case AffineConstantExpr(value=value):
            return value
        case AffineDimExpr(position=position):
            return values[position]
        case AffineBinaryOpExpr(kind=kind, lhs=left, rhs=right):
            one, two = _evaluate(left, values), _evaluate(right, values)
            match kind:
                case AffineBinaryOpKind.Add:
                    return one + two
                case AffineBinaryOpKind.Mul:
                    return one * two
                case AffineBinaryOpKind.FloorDiv:
                    return one // two
                case AffineBinaryOpKind.Mod:
                    return one % two
                case AffineBinaryOpKind.CeilDiv:
                    return -(-one // two)
        case _:
            raise AssertionError(f"not an affine expression: {expr}")
