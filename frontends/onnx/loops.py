"""Converter of Loop: a `graph.scan` where each step is like the others, else step after step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto
from xdsl.builder import ImplicitBuilder
from xdsl.ir import Block, Region, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.evaluation import Varies
from nn_opt.frontends.onnx.lists import DOMAIN
from nn_opt.frontends.onnx.node import (
    BadNode,
    HostOnly,
    Node,
    Results,
    axis_in,
    constant,
    rank_of,
    reshaped,
    transposed,
)
from nn_opt.frontends.onnx.scan import show, step_block
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, numpy_dtype, shape_of

ENDLESS = 2**62  # a trip count that is left out, or is meant to be
ABSURD = 2**40  # trips that no machine makes
NO_END = "it has no trip count, and no condition that ends it"
MOST_STEPS = 2**24  # of a scan: it reads its step's number from a constant
MOST_UNROLLED = 64  # steps that are no scan
MOST_NODES = 4096  # that unrolling may make


@converts("Loop")
def loop_node(node: Node) -> Results:
    """Trip count M, condition, states; results: the last states, then what each step adds."""
    body = node.attrs.graph("body")
    states = [node[index] for index in range(2, len(node.operands))]
    if len(body.input) != len(states) + 2:
        raise BadNode(f"body has {len(body.input)} inputs, expected {len(states) + 2}")
    if len(body.output) < len(states) + 1:
        raise BadNode(f"body has {len(body.output)} outputs, expected at least {len(states) + 1}")
    if len(node.outputs) > len(body.output) - 1:
        raise BadNode(f"has {len(node.outputs)} outputs, its body {len(body.output)}")
    run = Run(node, body, states)
    if node.get(0) is not None and node.evaluate(node[0]) is None and not run.goes_on():
        raise HostOnly("its trip count and its condition are not known before it runs")
    trips, condition = node.known(0), node.known(1)
    for name, value in (("trip count", trips), ("condition", condition)):
        if value is not None and value.size != 1:
            raise BadNode(f"the {name} has {value.size} elements, expected one")
    count = ENDLESS if trips is None else max(0, int(trips.reshape(-1)[0]))
    runs = condition is None or bool(condition.reshape(-1)[0])
    if runs and count >= ABSURD and run.goes_on():
        if trips is None:
            raise BadNode(NO_END)
        raise BadNode(f"{count} steps, and no condition that ends them, are absurd")
    return run.to_end(count if runs else 0)


@dataclass
class Run:
    """A loop while its steps are made: the states so far, and what the steps added."""

    node: Node
    body: GraphProto
    states: Sequence[SSAValue]
    done: int = 0
    added: list[Sequence[SSAValue]] = field(default_factory=list[Sequence[SSAValue]])

    def to_end(self, count: int) -> list[SSAValue]:
        """Return the loop's results after `count` steps, or as many as its condition allows."""
        if count == 0:
            return [*self.states, *self.nothing()]
        while self.done < count:
            if self.scan(count - self.done) or not self.step(count):
                break
        columns = zip(*self.added, strict=True)
        return [*self.states, *(joined(list(column)) for column in columns)]

    def scan(self, count: int) -> bool:
        """Make all steps left by one scan, if they keep the states' types and the condition."""
        if not 1 < count <= MOST_STEPS:
            return False
        numbers = constant(np.arange(self.done, self.done + count, dtype=np.int64))
        block = step_block(self.states, [numbers])
        *states, number = block.args
        results = self.trial(block, number, states)
        if results is None or [s.type for s in self.states] != [
            value.type for value in results[: len(states)]
        ]:
            discard(block)
            return False
        with ImplicitBuilder(block):
            graph.YieldOp(*results)
        scan = graph.ScanOp(self.states, [numbers], Region(block))
        self.take(scan.results)
        return True

    def goes_on(self) -> bool:
        """Return whether each step makes the next one run, as far as that is known."""
        block = step_block(self.states, [constant(np.zeros([1], np.int64))])
        *states, number = block.args
        results = self.trial(block, number, states)
        discard(block)
        return results is not None

    def trial(
        self, block: Block, number: SSAValue, states: Sequence[SSAValue]
    ) -> Sequence[SSAValue] | None:
        """Return a step's results; None if it is not one that makes the next step run."""
        with ImplicitBuilder(block):
            true = constant(np.asarray(True))
        try:
            condition, *results = self.inline(number, true, states, block)
        except Varies:
            return None
        holds = self.node.evaluate(condition)
        return results if holds is not None and holds.all() else None

    def step(self, count: int) -> bool:
        """Make one step where the loop is; return whether there is another one."""
        nodes = len(self.body.node)
        if self.done == MOST_UNROLLED or self.done * nodes > MOST_NODES:
            raise HostOnly(f"its steps differ from each other after {self.done} of them")
        number, true = constant(np.asarray(self.done, np.int64)), constant(np.asarray(True))
        try:
            condition, *results = self.inline(number, true, self.states, None)
        except Varies as error:
            raise HostOnly(error.reason) from None
        self.done += 1
        stacked = results[len(self.states) :]
        self.take(
            [
                *results[: len(self.states)],
                *(reshaped(value, [1, *shape_of(value)]) for value in stacked),
            ]
        )
        if self.done == count:
            return False
        holds = self.node.evaluate(condition)
        if holds is None:
            raise HostOnly("its condition depends on what its steps compute")
        return bool(holds.all())

    def inline(
        self, number: SSAValue, true: SSAValue, states: Sequence[SSAValue], block: Block | None
    ) -> list[SSAValue]:
        """Convert the body at the end of a block, or right here."""
        with ImplicitBuilder(block) if block is not None else nullcontext():
            arguments = [*map(self.declared, (number, true), range(2)), *states]
        return self.node.inline(self.body, arguments, block)

    def declared(self, value: SSAValue, index: int) -> SSAValue:
        """Return the step's number or condition under the rank that the body declares."""
        type_ = self.body.input[index].type.tensor_type
        return reshaped(value, [1]) if len(type_.shape.dim) == 1 else value

    def take(self, results: Sequence[SSAValue]) -> None:
        """Go on from a step's results, or those of several steps."""
        self.states = results[: len(self.states)]
        self.added.append(results[len(self.states) :])

    def nothing(self) -> list[SSAValue]:
        """Return what no step adds: stacks of no slices, of the shape that a step would add."""
        if len(self.body.output) == 1 + len(self.states):
            return []
        number = constant(np.zeros([1], np.int64))
        block = step_block(self.states, [number])
        *states, first = block.args
        with ImplicitBuilder(block):
            true = constant(np.asarray(True))
        try:
            results = self.inline(first, true, states, block)[1 + len(states) :]
        except Varies as error:
            raise HostOnly(error.reason) from None
        empty = [
            np.zeros([0, *shape_of(value)], numpy_dtype(element_type(value))) for value in results
        ]
        discard(block)
        return [constant(array) for array in empty]


@converts("Unfront", domain=DOMAIN)
def unfront(node: Node) -> SSAValue:
    """The first axis becomes another one: of what steps added, where a list was stacked."""
    rank = rank_of(node[0])
    axis = axis_in(node.attrs.int("axis"), rank)
    return transposed(node[0], [*range(1, axis + 1), 0, *range(axis + 1, rank)])


def joined(parts: Sequence[SSAValue]) -> SSAValue:
    """Return stacks of slices one behind the other.

    Raises: BadNode if the slices are not alike.
    """
    kinds = {(shape_of(part)[1:], element_type(part)) for part in parts}
    if len(kinds) > 1:
        shown = " and ".join(show(part.type) for part in parts[:2])
        raise BadNode(f"steps add slices of different types: {shown}")
    return parts[0] if len(parts) == 1 else graph.ConcatOp(parts, 0).result


def discard(block: Block) -> None:
    """Drop a body that was converted in vain."""
    for op in block.ops:
        op.drop_all_references()
    block.erase(safe_erase=False)
