"""An instrument that keeps the module around every pass, and what is told of the pass."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from nn_opt.explorer.applications import Application, Applications
from nn_opt.explorer.lineage import Unmarker, mark
from nn_opt.explorer.memory import Memory, memory_of
from nn_opt.explorer.snapshots import FUNCTION, Part, parts_of
from nn_opt.explorer.sources import Source
from nn_opt.explorer.stages import Stages, stages_of
from nn_opt.instrument import Instrument
from nn_opt.ir.remarks import Remark
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.watching import Tried

Origins = tuple[int, ...]
_NAME = "main"


@dataclass(frozen=True)
class Snapshot:
    """A module between two passes.

    places: for each op, the lines of the source that it is there for.
    origins: for each op, the numbers of those of the snapshot before that it came from.
    """

    parts: Sequence[Part]
    places: Sequence[tuple[int, ...]]
    origins: Sequence[Origins]
    memory: Memory | None = None


@dataclass
class Rewrites:
    """How often a pattern was tried and changed something, and on which ops of the snapshot."""

    tried: int = 0
    changed: int = 0
    ops: list[int] = field(default_factory=list[int])


@dataclass
class Step:
    """One run of a pass: what it took, said and counted."""

    run: ModulePass
    seconds: float = 0.0
    error: str = ""
    remarks: Sequence[Remark] = ()
    counts: Mapping[Statistic, int] = field(default_factory=dict[Statistic, int])
    rewrites: dict[str, Rewrites] = field(default_factory=dict[str, Rewrites])
    stages: Mapping[str, Stages] = field(default_factory=dict[str, Stages])
    applications: Sequence[Application] = ()
    left_out: int = 0  # applications that are not kept


class Recorder(Instrument):
    """Keeps a snapshot after each pass, and times the pass alone.

    remarks, counts: the collections that are being filled while the passes run.
    """

    innermost = True

    def __init__(
        self,
        module: ModuleOp,
        source: Source,
        remarks: Sequence[Remark],
        counts: Mapping[Statistic, int],
    ) -> None:
        self.source, self._remarks, self._counts = source, remarks, counts
        self.steps: list[Step] = []
        self.snapshots: list[Snapshot] = []
        self.kinds: dict[str, type[Operation]] = {}  # the classes of all ops seen, by name
        self.ops: list[Operation] = []  # those of the last snapshot
        self._is_running = False
        self._take(module, {})

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.steps.append(Step(step, stages=stages_of(step, module)))
        self._said, self._counted = len(self._remarks), dict(self._counts)
        mark(module, self.ops)
        self._applications, self._spent = Applications(module), 0.0
        self._unmarker = Unmarker()
        self._is_running = True
        self._begin = time.perf_counter()

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self._finish(module)
        self._take(module, self._found)

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        """Keep what the pass left, unless that cannot even be printed; the error is said later."""
        self.steps[-1].error = str(error)
        if not self._is_running:  # an instrument did not like what a pass left
            return
        self._finish(module)
        try:
            self._take(module, self._found)
        except Exception:  # any: a pass that failed may leave anything
            self.snapshots.append(self.snapshots[-1])

    def before_pattern(self, pattern: Tried, op: Operation) -> None:
        self._place = op.location
        self._applications.before(op)

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        rewrites = self.steps[-1].rewrites
        name = getattr(pattern, "__name__", None) or type(pattern).__name__
        entry = rewrites.get(name)
        if entry is None:
            entry = rewrites[name] = Rewrites()
        entry.tried += 1
        if changed:
            entry.changed += 1
            entry.ops.extend(self._unmarker.split(self._place)[1][:1])
            begin = time.perf_counter()
            self._applications.after(name)
            self._spent += time.perf_counter() - begin

    def _finish(self, module: ModuleOp) -> None:
        """Complete the step: its time, what it said and counted, and its lineage."""
        step = self.steps[-1]
        step.seconds = time.perf_counter() - self._begin - self._spent
        step.applications = self._applications.kept
        step.left_out = self._applications.left_out
        step.remarks = tuple(self._remarks[self._said :])
        step.counts = {
            statistic: count - self._counted.get(statistic, 0)
            for statistic, count in self._counts.items()
            if count != self._counted.get(statistic, 0)
        }
        self._is_running = False
        self._found = self._unmarker.origins(module)

    def _take(self, module: ModuleOp, origins: Mapping[Operation, Origins]) -> None:
        parts = parts_of(module)
        self.ops = [op for part in parts for op in part.ops]
        self.kinds.update((op.name, type(op)) for op in self.ops)
        mains = [part.ops for part in parts if part.kind == FUNCTION and part.name == _NAME]
        lines: dict[int, tuple[int, ...]] = {}
        for op in self.ops:
            if id(op.location) not in lines:
                lines[id(op.location)] = self.source.lines_of(op.location)
        self.snapshots.append(
            Snapshot(
                [_light(part) for part in parts],
                [lines[id(op.location)] for op in self.ops],
                [origins.get(op, ()) for op in self.ops],
                memory_of(module, mains[0]) if mains else None,
            )
        )


def _light(part: Part) -> Part:
    """Return a part without its ops: they belong to the module, which goes on changing."""
    return Part(part.name, part.kind, part.text, (), part.lines, part.graph)
