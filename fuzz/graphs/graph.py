"""A graph that grows node by node, each value known as soon as it is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, defs, helper, numpy_helper

from fuzz.graphs.numbers import DTYPES, KINDS, Array, describe, described, dtype_of
from fuzz.graphs.oracle import DOMAINS, IR_VERSION, Unsure, Value, step

Item = TypeVar("Item")
SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 0)
MOST_ELEMENTS = 4000  # of a value
# What became of the nodes that were drawn: (what, operator, element type of its first operand).
FATES: Counter[tuple[str, str, str]] = Counter()


@dataclass
class Graph:
    """Values so far; `draw` decides what comes next."""

    draw: st.DrawFn
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    inputs: dict[str, str] = field(default_factory=dict[str, str])  # how each is made
    weights: dict[str, Array] = field(default_factory=dict[str, Array])
    hows: list[str] = field(default_factory=list[str])  # each node's
    types: tuple[str, ...] = DTYPES  # what new values may be of
    runtime_knowns: bool = True
    strange: bool = True  # NaN, infinities, ends of types
    empty: bool = True  # sizes of 0
    versions: Mapping[str, int] = field(default_factory=lambda: DOMAINS)  # of operator sets

    @property
    def opset(self) -> int:
        """The version of ai.onnx."""
        return self.versions[""]

    def pick(self, items: Sequence[Item]) -> Item:
        """Draw one of some."""
        return self.draw(st.sampled_from(items))

    def whole(self, low: int, high: int) -> int:
        """Draw an integer, both ends with it."""
        return self.draw(st.integers(low, high))

    def flag(self) -> bool:
        """Draw yes or no."""
        return self.draw(st.booleans())

    def size(self) -> int:
        """Draw a size, seldom 0."""
        return self.pick(SIZES if self.empty else SIZES[:-1])

    def sizes(self, rank: int, most: int = MOST_ELEMENTS) -> tuple[int, ...]:
        """Draw so many sizes, for no more than so many elements."""
        made: list[int] = []
        for _ in range(rank):
            size = self.size()
            made.append(size if size * int(np.prod(made)) <= most else 1)
        return tuple(made)

    def value(
        self,
        types: Sequence[str],
        rank: int | None = None,
        least: int = 0,
        kind: str | None = None,
    ) -> str:
        """Return a value of one of the types: one that is there, or a new operand."""
        types = [t for t in types if t in self.types] or types
        known = [n for n, v in self.values.items() if self._fits(v, types, rank, least)]
        if kind is None and known and self.whole(0, 3):
            return self.pick(known[-4:])
        count = rank if rank is not None else self.whole(max(least, 0), max(least, 4))
        return self.operand(self.pick(types), self.sizes(count), kind)

    def _fits(self, value: Value, types: Sequence[str], rank: int | None, least: int) -> bool:
        count = len(value.shape)
        return value.dtype in types and count >= least and rank in (None, count)

    def operand(self, dtype: str, shape: tuple[int, ...], kind: str | None = None) -> str:
        """Return a new input or weight."""
        kind = kind or self.pick(KINDS if self.strange else KINDS[:4])
        text = describe(dtype, shape, kind, self.whole(0, 9))
        name = f"x{len(self.inputs) + len(self.weights)}"
        self.values[name] = Value(described(text))
        if self.flag():
            self.inputs[name] = text
        else:
            self.weights[name] = self.values[name].array
        return name

    def known(self, values: Any, dtype: str = "int64") -> str:
        """Return a constant, which is seldom an input of the run."""
        array = np.asarray(values, dtype_of(dtype))
        name = f"k{len(self.inputs) + len(self.weights)}"
        self.values[name] = Value(array)
        numbers = ",".join(str(v) for v in array.reshape(-1).tolist())
        if self.runtime_knowns and array.dtype.kind in "iu" and self.whole(0, 9) == 9:
            self.inputs[name] = describe(dtype, array.shape, f"list:{numbers}", 0)
        else:
            self.weights[name] = array
        return name

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value."""
        return self.values[name].shape

    def dtype(self, name: str) -> str:
        """Return the name of a value's element type."""
        return self.values[name].dtype

    def add(
        self,
        op_type: str,
        operands: Sequence[str],
        how: str = "local",
        outputs: int | Sequence[bool] = 1,
        domain: str = "",
        captured: Sequence[str] = (),
        most: float = 0,
        **attributes: Any,
    ) -> list[str]:
        """Add a node if it is sure what it computes; return the names of its outputs, or none.

        With `most`, the first operand must hold numbers up to that size, and no NaN.
        """
        if most and not np.all(np.abs(self.values[operands[0]].array.astype(np.float64)) <= most):
            return []
        flags = [True] * outputs if isinstance(outputs, int) else list(outputs)
        names = [f"v{len(self.nodes)}_{k}" if f else "" for k, f in enumerate(flags)]
        names = [name.removesuffix("_0") for name in names]
        node = helper.make_node(op_type, operands, names, f"n{len(self.nodes)}", domain=domain)
        made = [helper.make_attribute(k, v) for k, v in attributes.items() if v is not None]
        node.attribute.extend(made)
        read = list(dict.fromkeys([n for n in (*operands, *captured) if n]))
        kind = self.dtype(read[0]) if read else ""
        try:
            results = step(node, self.values, how, read, self.versions)
            if any(value.array.size > 2 * MOST_ELEMENTS for value in results):
                raise Unsure(f"{op_type}: large")
        except Unsure as reason:
            FATES[str(reason).partition(": ")[2], op_type, kind] += 1
            return []
        FATES["made", op_type, kind] += 1
        self.nodes.append(node)
        self.hows.append(how)
        kept = [name for name in names if name]
        self.values |= dict(zip(kept, results, strict=True))
        return kept

    def model(self) -> ModelProto:
        """Return the graph as a model; what nothing reads are its outputs, and some more."""
        read = {n for node in self.nodes for n in (*node.input, *captures(node))}
        made = [name for node in self.nodes for name in node.output if name]
        ends = [n for n in made if n not in read or self.whole(0, 7) == 7]
        infos = [_info(name, self.values[name]) for name in self.inputs]
        used = [n for n in self.weights if n in read]
        graph = helper.make_graph(
            self.nodes,
            "random",
            [info for info in infos if info.name in read],
            [_info(name, self.values[name], sizes=False) for name in ends],
            [numpy_helper.from_array(self.weights[name], name) for name in used],
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.versions.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def captures(node: NodeProto) -> list[str]:
    """Return the names that subgraphs of a node read from outside."""
    found: list[str] = []
    for attribute in node.attribute:
        if attribute.HasField("g"):
            own = {v.name for v in (*attribute.g.input, *attribute.g.initializer)}
            own |= {name for inner in attribute.g.node for name in inner.output}
            reads = [n for i in attribute.g.node for n in (*i.input, *captures(i))]
            reads += [v.name for v in attribute.g.output]
            found += [name for name in reads if name and name not in own]
    return found


def _info(name: str, value: Value, sizes: bool = True) -> Any:
    kind = helper.np_dtype_to_tensor_dtype(value.array.dtype)
    shape = value.shape if sizes else [None] * len(value.shape)
    return helper.make_tensor_value_info(name, kind, shape)


@cache
def schema_types(op_type: str, parameter: str = "T", domain: str = "") -> tuple[str, ...]:
    """Return the element types that ONNX allows for a type parameter of an operator."""
    schema = defs.get_schema(op_type, DOMAINS[domain], domain)
    (row,) = (c for c in schema.type_constraints if c.type_param_str == parameter)
    words = {"float": "float32", "double": "float64"}
    kinds = [text.removeprefix("tensor(").removesuffix(")") for text in row.allowed_type_strs]
    plain = {name.replace("_", ""): name for name in DTYPES}
    found = {words.get(kind, plain.get(kind, "")) for kind in kinds}
    return tuple(name for name in DTYPES if name in found)


Recipe = Callable[[Graph, str], object]
RECIPES: dict[str, Recipe] = {}
OLD: dict[str, Recipe] = {}  # forms that older versions have


def recipe(*names: str) -> Callable[[Recipe], Recipe]:
    """Let a function make nodes of operators; those of other domains as `domain.Name`."""

    def register(function: Recipe) -> Recipe:
        RECIPES.update(dict.fromkeys(names, function))
        return function

    return register


def old(*names: str) -> Callable[[Recipe], Recipe]:
    """Let a function make nodes of operators as they were in older versions of ai.onnx."""

    def register(function: Recipe) -> Recipe:
        OLD.update(dict.fromkeys(names, function))
        return function

    return register
