"""Trees of ai.onnx.ml as arrays: every branch asks whether a feature is at most a threshold.

x < t asks the same of the number before t; x >= t, x > t and x != t are x < t, x <= t and x == t
with their branches exchanged; x == t takes two nodes; a set of numbers is searched by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn_opt.frontends.onnx.node import BadNode

Array = NDArray[Any]


@dataclass(frozen=True)
class Branch:
    """A node as the model has it; `yes` and `no` name nodes or leaves."""

    mode: str
    feature: int
    values: Sequence[float]
    nan_is_yes: bool
    yes: int
    no: int


@dataclass
class Forest:
    """Nodes by their number; a leaf leads to itself and has a row of weights, a branch -1."""

    dtype: np.dtype[Any]
    features: list[int] = field(default_factory=list[int])
    thresholds: list[float] = field(default_factory=list[float])
    nan_is_yes: list[bool] = field(default_factory=list[bool])
    yes: list[int] = field(default_factory=list[int])
    no: list[int] = field(default_factory=list[int])
    rows: list[int] = field(default_factory=list[int])
    roots: list[int] = field(default_factory=list[int])

    def leaf(self, row: int) -> int:
        """Add a leaf; return its number."""
        number = self._add(0, 0.0, False)
        self.rows[number], self.yes[number], self.no[number] = row, number, number
        return number

    def place(self) -> int:
        """Return the number of a node that `branch` fills later."""
        return self._add(0, 0.0, False)

    def _add(self, feature: int, threshold: float, nan_is_yes: bool) -> int:
        for target, value in (
            (self.features, feature),
            (self.thresholds, threshold),
            (self.nan_is_yes, nan_is_yes),
        ):
            target.append(value)  # pyright: ignore[reportArgumentType]
        for target, value in ((self.yes, 0), (self.no, 0), (self.rows, -1)):
            target.append(value)
        return len(self.rows) - 1

    def branch(self, at: int, branch: Branch) -> None:
        """Fill a node, with further ones where one question is not enough."""
        mode, yes, no, nan_is_yes = branch.mode, branch.yes, branch.no, branch.nan_is_yes
        if mode in OPPOSITES:
            is_different = mode == "BRANCH_NEQ"
            mode, yes, no = OPPOSITES[mode], no, yes
            nan_is_yes = False if is_different else not nan_is_yes
        ask = _Question(self, branch.feature, nan_is_yes, yes, no)
        if mode in ("BRANCH_LEQ", "BRANCH_LT"):
            ask.at_most(at, self.limit(branch.values[0], mode == "BRANCH_LT"), yes, no)
        else:
            ask.member(at, sorted({*branch.values}))

    def limit(self, value: float, before: bool) -> float:
        """Return a threshold as the features' type holds it, or the number before it."""
        limit = self.dtype.type(value)
        if before:
            below = np.nextafter(limit, self.dtype.type(-np.inf))
            limit = below if below < limit else self.dtype.type(np.nan)  # nothing is below -inf
        return float(limit)

    @property
    def depth(self) -> int:
        """How many branches there are to a leaf, at most; BadNode if some never reach one."""
        yes, no, rows = (np.asarray(numbers) for numbers in (self.yes, self.no, self.rows))
        level = np.unique(np.asarray(self.roots, np.int64))
        for depth in range(len(yes) + 1):
            level = level[rows[level] < 0]
            if not level.size:
                return depth
            level = np.unique(np.concatenate([yes[level], no[level]]))
        raise BadNode("a path through the nodes of a tree is a cycle, expected a leaf at its end")


OPPOSITES = {"BRANCH_GTE": "BRANCH_LT", "BRANCH_GT": "BRANCH_LEQ", "BRANCH_NEQ": "BRANCH_EQ"}


@dataclass(frozen=True)
class _Question:
    """Adds the nodes of one branch."""

    forest: Forest
    feature: int
    nan_is_yes: bool
    yes: int
    no: int

    def at_most(self, at: int, limit: float, yes: int, no: int) -> None:
        forest = self.forest
        forest.features[at], forest.thresholds[at] = self.feature, limit
        forest.nan_is_yes[at], forest.yes[at], forest.no[at] = self.nan_is_yes, yes, no

    def member(self, at: int, values: Sequence[float]) -> None:
        """Ask whether the feature is one of some numbers, which ascend."""
        if len(values) > 1:
            half = len(values) // 2
            low, high = self.forest.place(), self.forest.place()
            self.at_most(at, self.forest.limit(values[half - 1], False), low, high)
            self.member(low, values[:half])
            self.member(high, values[half:])
        elif values:
            upper = self.forest.place()
            self.at_most(at, self.forest.limit(values[0], False), upper, self.no)
            below = self.forest.limit(values[0], True)
            # What is no number has passed the first question only if it counts as a member.
            self._below(upper, below)
        else:
            self.at_most(at, float("nan"), self.yes, self.no)

    def _below(self, at: int, limit: float) -> None:
        forest = self.forest
        forest.features[at], forest.thresholds[at] = self.feature, limit
        forest.nan_is_yes[at], forest.yes[at], forest.no[at] = False, self.no, self.yes


def linked(
    forest: Forest,
    branches: Sequence[Branch | int],
    find: Callable[[int, int], int],
    roots: Sequence[int],
) -> None:
    """Fill a forest with nodes: branches, or rows of leaves; `find` says where a branch leads."""
    numbers = [forest.leaf(n) if isinstance(n, int) else forest.place() for n in branches]
    forest.roots = [numbers[root] for root in roots]
    for index, node in enumerate(branches):
        if isinstance(node, Branch):
            yes, no = (numbers[find(index, target)] for target in (node.yes, node.no))
            filled = Branch(node.mode, node.feature, node.values, node.nan_is_yes, yes, no)
            forest.branch(numbers[index], filled)
