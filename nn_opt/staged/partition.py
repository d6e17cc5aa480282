"""Where compiled code ends and the host goes on: as few regions as there can be."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from onnx import GraphProto

from nn_opt.frontends.onnx.reader import Model
from nn_opt.frontends.onnx.structure import live_nodes, needed_by
from nn_opt.staged.cuts import Part
from nn_opt.staged.cutting import closure, static_names


@dataclass(frozen=True)
class Level:
    """A region of compiled code, and the nodes, by their places, that the host runs after it."""

    region: Part
    on_host: list[int]


def levels_of(model: Model, part: Part, on_host: Container[int]) -> list[Level]:
    """Return the levels of a graph in order; a region without outputs has nothing to do."""
    graph = model.proto.graph
    live = live_nodes(graph)
    level_of, made_by_host = _levels(graph, live, on_host)
    static = static_names(graph, model) - made_by_host
    hosts: dict[int, list[int]] = {}
    needed = set(part.outputs)
    for place in live:
        if place in on_host:
            hosts.setdefault(_level(graph, place, level_of), []).append(place)
            needed.update(needed_by(graph.node[place]))
    found: list[Level] = []
    for level in range(max(level_of.values(), default=0), -1, -1):
        mine = [n for n, at in level_of.items() if at == level and n not in made_by_host]
        outputs = tuple(name for name in mine if name in needed)
        earlier = {n for n, at in level_of.items() if at < level and n not in static}
        hosted = {n for n in made_by_host if level_of[n] <= level}
        read = closure(graph, outputs, {*part.inputs, *earlier, *hosted}).read
        needed.update(read)
        found.append(Level(Part(tuple(read), outputs), hosts.get(level, [])))
    return found[::-1]


def _levels(
    graph: GraphProto, live: list[int], on_host: Container[int]
) -> tuple[dict[str, int], set[str]]:
    """Return at which level each value is there, and which ones the host makes.

    What the host makes of a level is for the region of the next one.
    """
    level_of: dict[str, int] = {}
    made_by_host: set[str] = set()
    for place in live:
        node = graph.node[place]
        read = [name for name in needed_by(node) if name in level_of]
        after = 0 if place in on_host else 1
        level = max((level_of[n] + (after if n in made_by_host else 0) for n in read), default=0)
        names = [name for name in node.output if name]
        level_of.update(dict.fromkeys(names, level))
        if place in on_host:
            made_by_host.update(names)
    return level_of, made_by_host


def _level(graph: GraphProto, place: int, level_of: dict[str, int]) -> int:
    return next((level_of[name] for name in graph.node[place].output if name), 0)
