"""Every use of a value comes after its definition, on every path: the check that xDSL lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, ErasedSSAValue, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import Complaints, Diagnostic, diagnose, note_at

# In their regions, order means nothing; `test` holds xDSL's own operations without a meaning.
_GRAPHS = frozenset({"equivalence.graph", "test.op", "test.pureop", "test.termop"})


def is_isolated(op: Operation) -> bool:
    """Return whether the regions of an op see nothing from outside of it."""
    return op.has_trait(IsolatedFromAbove, value_if_unregistered=False)


def dominator_children(region: Region) -> dict[Block, list[Block]]:
    """Return the dominator tree of the reachable blocks, children in reverse postorder.

    Source: Georgiadis, Tarjan and Werneck, "Finding Dominators in Practice", 2006, as SNCA.
    """
    if region.blocks.first is None or region.blocks.first.next_block is None:
        return {block: [] for block in region.blocks}
    tree = _depth_first(region.blocks.first)
    children: dict[Block, list[Block]] = {block: [] for block in reversed(tree.finished)}
    number = {block: k for k, block in enumerate(tree.blocks)}
    predecessors: list[list[int]] = [[] for _ in tree.blocks]
    for index, block in enumerate(tree.blocks):
        for successor in _successors(block):
            predecessors[number[successor]].append(index)
    idom = _immediate_dominators(tree.parents, predecessors)
    for block in reversed(tree.finished[:-1]):
        children[tree.blocks[idom[number[block]]]].append(block)
    return children


def _immediate_dominators(
    parents: Sequence[int], predecessors: Sequence[Sequence[int]]
) -> list[int]:
    """Return the immediate dominator of each block, all numbered as a depth-first search met them.

    parents: the block from which the search came to each.
    """
    count = len(parents)
    semi, label, above = list(range(count)), list(range(count)), [-1] * count
    for block in range(count - 1, 0, -1):
        for predecessor in predecessors[block]:
            lowest = _lowest_label(predecessor, semi, label, above)
            semi[block] = min(semi[block], semi[lowest])
        above[block] = parents[block]
    idom = list(parents)
    for block in range(1, count):
        while idom[block] > semi[block]:
            idom[block] = idom[idom[block]]
    return idom


def _lowest_label(block: int, semi: list[int], label: list[int], above: list[int]) -> int:
    """Return the block of the least semidominator on the way up; the way is made shorter."""
    if above[block] < 0:
        return block
    path: list[int] = []
    while above[above[block]] >= 0:
        path.append(block)
        block = above[block]
    for lower in reversed(path):
        upper = above[lower]
        if semi[label[upper]] < semi[label[lower]]:
            label[lower] = label[upper]
        above[lower] = above[upper]
    return label[path[0] if path else block]


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors


@dataclass(frozen=True)
class _Search:
    """A depth-first search: blocks as they were met, from where, and as they were left."""

    blocks: list[Block]
    parents: list[int]
    finished: list[Block]


def _depth_first(entry: Block) -> _Search:
    search = _Search([entry], [0], [])
    seen = {entry}
    stack: list[tuple[int, Iterator[Block]]] = [(0, iter(_successors(entry)))]
    while stack:
        index, successors = stack[-1]
        fresh = next((s for s in successors if s not in seen), None)
        if fresh is None:
            search.finished.append(search.blocks[index])
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((len(search.blocks), iter(_successors(fresh))))
            search.blocks.append(fresh)
            search.parents.append(index)
    return search


def verify_dominance(root: Operation) -> None:
    """Raise VerifyException for the uses that their definitions do not dominate."""
    problems = dominance_problems(root)
    if problems:
        raise VerifyException(Complaints(diagnostic for _, diagnostic in problems))


def dominance_problems(
    root: Operation, broken: Collection[int] = ()
) -> list[tuple[Operation, Diagnostic]]:
    """Return the uses that their definitions do not dominate.

    broken: ids of regions to leave out, as their branches lead outside.
    """
    found: list[tuple[Operation, Diagnostic]] = []
    tops = [(region, set[int]()) for region in root.regions]
    scopes: list[Iterator[tuple[Region, set[int]]]] = [iter(tops)]
    while scopes:  # no recursion: regions nest deeply
        inner = next(scopes[-1], None)
        if inner is None:
            scopes.pop()
        elif inner[0].blocks.first is not None and id(inner[0]) not in broken:
            scopes.append(_check_region(*inner, found))
    return found


def _check_region(
    region: Region, visible: set[int], found: list[tuple[Operation, Diagnostic]]
) -> Iterator[tuple[Region, set[int]]]:
    """Check the ops of a region; yield each inner region at its place, with what it sees.

    visible: the ids of values of enclosing scopes, which Python hashes faster; it is restored.
    """
    assert region.blocks.first is not None, "the caller has looked"
    if _is_graph(region):
        visible.update(id(result) for op in region.blocks.first.ops for result in op.results)
    children = dominator_children(region)
    stack: list[tuple[Block, bool]] = [(region.blocks.first, False)]
    defined: dict[Block, list[int]] = {}
    while stack:
        block, done = stack.pop()
        if done:
            visible.difference_update(defined.pop(block))
            continue
        values = defined[block] = [id(argument) for argument in block.args]
        visible.update(values)
        for op in block.ops:
            for operand in op._operands:  # pyright: ignore[reportPrivateUsage]  # no new view
                if id(operand) not in visible:
                    _refuse(op, operand, found)
            if op.regions:
                scope: set[int] = set() if is_isolated(op) else visible
                for inner in op.regions:
                    yield inner, scope
            for result in op.results:
                visible.add(id(result))
                values.append(id(result))
        stack.append((block, True))
        stack += [(child, False) for child in children[block]]


def _is_graph(region: Region) -> bool:
    """Return whether values of a region may be read before they are defined, as in MLIR."""
    op = region.parent
    return isinstance(op, ModuleOp | UnregisteredOp) or (op is not None and op.name in _GRAPHS)


def _is_of_egraph(op: Operation) -> bool:
    """Return whether an op holds values that are equal: a value may be equal to one made of it."""
    return op.name.startswith("equivalence.")


def _refuse(op: Operation, operand: SSAValue, found: list[tuple[Operation, Diagnostic]]) -> None:
    """Add the complaint about an operand that is not visible where it is used, once an op."""
    if _is_of_egraph(op) or (isinstance(operand.owner, Operation) and _is_of_egraph(operand.owner)):
        return
    if isinstance(operand, ErasedSSAValue):
        return  # which is said elsewhere
    index = list(op.operands).index(operand)
    said = [d.message for other, d in found[-len(op.operands) :] if other is op]
    diagnostic = _unseen(op, index, operand)
    if diagnostic.message not in said:
        found.append((op, diagnostic))


def _unseen(op: Operation, index: int, operand: SSAValue) -> Diagnostic:
    """Word the complaint about an operand that is not visible where it is used."""
    name = f"%{operand.name_hint}" if operand.name_hint else "a value"
    notes = (_note_definition(name, operand),)
    isolated = _isolating_parent(op, operand)
    if isolated is not None:
        problem = f"operand #{index} ({name}) comes from outside of {isolated.name}"
        return diagnose(op, problem, hint="pass it in as an operand", notes=notes)
    problem = f"operand #{index} ({name}) is used before its definition dominates it"
    return diagnose(op, problem, notes=notes)


def _note_definition(name: str, value: SSAValue) -> Diagnostic:
    owner = value.owner
    if isinstance(owner, Operation):
        return note_at(owner, f"{name} is defined here, by {owner.name}")
    parent = owner.parent_op()
    if parent is None:
        return Diagnostic("note", "", f"{name} is a block argument of nothing")
    return note_at(parent, f"{name} is a block argument of {parent.name}")


def _isolating_parent(op: Operation, operand: SSAValue) -> Operation | None:
    """Return the isolated op around `op` that does not contain the operand's definition."""
    block = operand.owner.parent_block() if isinstance(operand.owner, Operation) else operand.owner
    home = block.parent_op() if block is not None else None
    parent = op.parent_op()
    while parent is not None and parent is not home:
        if is_isolated(parent):
            return parent
        parent = parent.parent_op()
    return None
