"""What is drawn: a model, inputs, and what its outputs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from hypothesis import strategies as st
from onnx import ModelProto, defs, numpy_helper

import fuzz.graphs.recipes  # noqa: F401  (fills RECIPES)
from fuzz.graphs.graph import OLD, RECIPES, Graph, captures
from fuzz.graphs.numbers import DTYPES, Array, described
from fuzz.graphs.oracle import DOMAINS, ML, Value, step

MOST_NODES = 7
OLD_OPSETS = (*range(7, 23), *range(7, 15), 1, 2, 5, 6)
HOW = "how "  # of each node, in the model's metadata


@dataclass
class Example:
    """A model that computes something, how its inputs are made, what its values are."""

    model: ModelProto
    texts: dict[str, str]
    values: dict[str, Value] = field(repr=False)

    @property
    def inputs(self) -> dict[str, Array]:
        """The inputs of a run."""
        return {info.name: self.values[info.name].array for info in self.model.graph.input}

    @property
    def expected(self) -> dict[str, Value]:
        """What each output is."""
        return {info.name: self.values[info.name] for info in self.model.graph.output}


@st.composite
def examples(
    draw: st.DrawFn,
    operators: Sequence[str] = (),
    most: int = MOST_NODES,
    types: tuple[str, ...] = DTYPES,
    plain: bool = False,
) -> Example:
    """Draw an example of some operators, or of all; a plain one is of usual sizes and numbers."""
    versions = DOMAINS | {ML: draw(st.sampled_from([5, 4, 3, 2, 1]))}
    g = Graph(
        draw,
        types=types,
        runtime_knowns=not plain,
        strange=not plain,
        empty=not plain,
        versions=versions,
    )
    names = list(operators) or list(RECIPES)
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=most)):
        RECIPES[name](g, name)
    return finished(g)


@cache
def of_version(opset: int) -> list[str]:
    """Return the operators that a version of ai.onnx has, those with old forms more often."""
    every = defs.get_all_schemas_with_history()
    there = {s.name for s in every if not s.domain and s.since_version <= opset}
    return [name for name in (*OLD, *OLD, *RECIPES) if name in there]


@st.composite
def old_examples(draw: st.DrawFn, operators: Sequence[str] = (), most: int = 3) -> Example:
    """Draw an example of an older version of ai.onnx, in the forms which that version has."""
    opset = draw(st.sampled_from(OLD_OPSETS))
    g = Graph(draw, versions=DOMAINS | {"": opset}, strange=False)  # where one oracle is open
    names = list(operators) or of_version(opset)
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=most)):
        made = OLD.get(name) if name not in RECIPES or g.flag() else None
        (made or RECIPES[name])(g, name)
    return finished(g)


def finished(g: Graph) -> Example:
    """Return a graph as an example that can be saved."""
    model = g.model()
    for node, how in zip(g.nodes, g.hows, strict=True):
        model.metadata_props.add(key=HOW + node.name, value=how)
    for info in model.graph.input:
        model.metadata_props.add(key=info.name, value=g.inputs[info.name])
    return Example(model, dict(g.inputs), g.values)


def restored(model: ModelProto) -> Example:
    """Return an example from its model alone: inputs from their texts, values by the oracles.

    Raises: Unsure.
    """
    known = {row.key: row.value for row in model.metadata_props}
    texts = {info.name: known[info.name] for info in model.graph.input}
    values = {name: Value(described(text)) for name, text in texts.items()}
    values |= {t.name: Value(numpy_helper.to_array(t)) for t in model.graph.initializer}
    versions = DOMAINS | {row.domain: row.version for row in model.opset_import}
    for node in model.graph.node:
        read = list(dict.fromkeys(n for n in (*node.input, *captures(node)) if n))
        results = step(node, values, known.get(HOW + node.name, "exact"), read, versions)
        values |= dict(zip([n for n in node.output if n], results, strict=True))
    return Example(model, texts, values)
