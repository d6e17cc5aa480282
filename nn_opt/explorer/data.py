"""A recording as JSON for the page: parts of text that are equal are stored once."""

from __future__ import annotations

import inspect
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from nn_opt import __version__
from nn_opt.explorer.applications import Application
from nn_opt.explorer.code import Piece
from nn_opt.explorer.emitters import Emitter
from nn_opt.explorer.graphs import Graph
from nn_opt.explorer.recorder import Recorder, Snapshot, Step
from nn_opt.explorer.snapshots import OTHER, Part
from nn_opt.explorer.stages import Stages
from nn_opt.pass_specs import spec_of
from nn_opt.plans import Group, Member, OnFunctions

Json = dict[str, Any]
Key = tuple[Any, ...]


def page_data(
    recorder: Recorder,
    plan: Sequence[Member],
    *,
    command: str = "",
    flags: Sequence[str] = (),
    error: str = "",
    texts: Iterable[tuple[Emitter, Sequence[Piece]]] = (),
) -> Json:
    """Return all that the page shows."""
    table = _Table()
    snapshots = [table.snapshot(snapshot) for snapshot in recorder.snapshots]
    numbers = {id(step.run): k for k, step in enumerate(recorder.steps)}
    memory = [k for k, snapshot in enumerate(recorder.snapshots) if snapshot.memory is not None]
    source = recorder.source
    return {
        "version": __version__,
        "command": command,
        "flags": shlex.join(flags),
        "error": error,
        "source": {"kind": source.kind, "name": source.name, "lines": source.lines},
        "pipeline": [_member(member, numbers) for member in plan],
        "steps": [_step(step, table) for step in recorder.steps],
        "snapshots": snapshots,
        "parts": table.parts,
        "places": table.places,
        "ops": {name: _summary(kind) for name, kind in sorted(recorder.kinds.items())},
        "texts": table.texts,
        "memory": {str(k): recorder.snapshots[k].memory.data() for k in memory},  # pyright: ignore[reportOptionalMemberAccess]
        "emitted": [_emitted(emitter, pieces) for emitter, pieces in texts],
    }


class _Table:
    """Numbers parts, and sets of source lines, that are equal with one number."""

    def __init__(self) -> None:
        self.parts: list[Json] = []
        self.places: list[list[int]] = []
        self.texts: list[str] = []  # lines of loops, which stages have in common
        self._texts: dict[str, int] = {}
        self._parts: dict[Key, int] = {}
        self._places: dict[tuple[int, ...], int] = {}
        self._before: dict[tuple[str, str, int], tuple[int, int]] = {}  # part and its first op

    def snapshot(self, snapshot: Snapshot) -> list[Json]:
        shown: list[Json] = []
        now: dict[tuple[str, str, int], tuple[int, int]] = {}
        seen: Counter[tuple[str, str]] = Counter()
        begin = 0
        for part in snapshot.parts:
            end = begin + len(part.lines)
            number = self._part(part, snapshot.places[begin:end])
            which = (part.name, part.kind, seen[part.name, part.kind])
            seen[part.name, part.kind] += 1
            now[which] = number, begin
            origins = snapshot.origins[begin:end]
            lineage = _lineage(origins, number, self._before.get(which))
            shown.append({"name": part.name, "kind": part.kind, "part": number, "from": lineage})
            begin = end
        self._before = now
        return shown

    def stages(self, stages: Stages) -> list[Json]:
        return [{"line": line, "text": [*map(self._text, text)]} for line, text in stages]

    def application(self, made: Application) -> Json:
        text = [*map(self._text, made.lines)]
        return {"pattern": made.pattern, "function": made.function, "text": text}

    def _text(self, line: str) -> int:
        if line not in self._texts:
            self._texts[line] = len(self.texts)
            self.texts.append(line)
        return self._texts[line]

    def _part(self, part: Part, places: Sequence[tuple[int, ...]]) -> int:
        sets = [self._place(place) for place in places]
        key = (part.text, tuple(sets), part.kind)
        if key not in self._parts:
            self._parts[key] = len(self.parts)
            steps = [b - a for a, b in zip((0, *part.lines), part.lines, strict=False)]
            entry: Json = {"text": part.text, "lines": steps, "places": sets}
            if part.graph is not None:
                entry["graph"] = _graph(part.graph)
            self.parts.append(entry)
        return self._parts[key]

    def _place(self, place: tuple[int, ...]) -> int:
        if place not in self._places:
            self._places[place] = len(self.places)
            self.places.append(list(place))
        return self._places[place]


def _summary(kind: type[Operation]) -> str:
    """Return the first paragraph of what is said about an op."""
    doc = vars(kind).get("__doc__") or ""  # not that of the base class
    return "" if doc.startswith(f"{kind.__name__}(") else inspect.cleandoc(doc).split("\n\n")[0]


def _lineage(
    origins: Sequence[tuple[int, ...]], number: int, before: tuple[int, int] | None
) -> list[int | list[int]] | int:
    """Return what each op came from; 0 stands for a part that is still there as it was."""
    if before is not None and before[0] == number:
        if origins == [(before[1] + k,) for k in range(len(origins))]:
            return 0
    return [found[0] if len(found) == 1 else list(found) for found in origins]


def _member(member: Member, numbers: dict[int, int]) -> Json:
    if isinstance(member, Group):
        return {"name": member.title, "members": [_member(m, numbers) for m in member.members]}
    return {
        "name": member.name,
        "spec": spec_of(inner_pass(member)),
        "step": numbers.get(id(member)),
    }


def inner_pass(step: ModulePass) -> ModulePass:
    """Return the pass that does the work."""
    return step.step if isinstance(step, OnFunctions) else step


def _step(step: Step, table: _Table) -> Json:
    run = inner_pass(step.run)
    return {
        "name": run.name,
        "spec": spec_of(run),
        "doc": inspect.getdoc(type(run)) or "",
        "seconds": round(step.seconds, 6),
        "error": step.error,
        "remarks": [[r.location, r.operation, r.text, r.function] for r in step.remarks],
        "counts": [[s.name, count, s.text] for s, count in step.counts.items()],
        "stages": {name: table.stages(stages) for name, stages in step.stages.items()},
        "applications": [table.application(made) for made in step.applications],
        "left_out": step.left_out,
        "rewrites": [
            [name, entry.tried, entry.changed, entry.ops]
            for name, entry in sorted(step.rewrites.items(), key=lambda item: -item[1].changed)
        ],
    }


def _graph(graph: Graph) -> Json:
    nodes = [[n.kind, n.label, n.type, n.op, n.rows, n.weights] for n in graph.nodes]
    return {"nodes": nodes, "edges": graph.edges}


def _emitted(emitter: Emitter, pieces: Sequence[Piece]) -> Json:
    return {
        "name": emitter.name,
        "title": emitter.title,
        "language": emitter.language,
        "pieces": [{"name": p.name or OTHER, "text": p.text, "ops": p.ops} for p in pieces],
    }
