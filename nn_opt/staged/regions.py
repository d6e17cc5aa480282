"""Parts of a model, each compiled for the shapes that it meets and cut where it needs a value."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from nn_opt.runtime.arguments import new_outputs
from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.cache import key_of
from nn_opt.runtime.index_ranges import check_indices
from nn_opt.runtime.manifest import TensorInfo
from nn_opt.runtime.program import Program
from nn_opt.runtime.recent import Recent
from nn_opt.staged.cuts import Cut, Part

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from nn_opt.frontends.onnx.reader import Model
    from nn_opt.staged.plan import HostStep

Array = NDArray[Any]
Values = dict[str, Any]  # what is computed so far, by name: arrays, lists of them, or None
Shapes = tuple[tuple[int, ...], ...]
MAX_BAKED_BYTES = 1 << 16  # of a value that becomes a constant; a larger one is no size or index
MOVES = ("Slice", "Reshape")  # of elements, which the host can do as well
MOST_BAKED = 4  # values of such a node that become constants; with more, it moves to the host
# What is told of each program that ran, with its inputs, while a model is profiled.
on_run: ContextVar[Callable[[Compiled, list[Array]], None] | None] = ContextVar(
    "on_run", default=None
)
MAX_PROGRAMS = 128  # that a staged model holds; others come from the cache again, or are compiled


class Compiler(Protocol):
    """What compiles the parts of a model, or has them on disk."""

    def fetch(self, key: str) -> Artifact | None:
        """Return what the cache has of a key."""
        ...

    def build(self, key: str, make: Callable[[], ModuleOp], profile: bool = False) -> Artifact:
        """Return a module compiled, and keep it; what `make` raises passes through."""
        ...

    def module_text(self, level: str, module: ModuleOp) -> str:
        """Return a module, which is consumed, as IR at a level."""
        ...

    def keep_cut(self, key: str, cut: str) -> None:
        """Keep where the model of a key is cut."""
        ...

    def load(self, artifact: Artifact) -> Program:
        """Return what runs an artifact."""
        ...


class Step(Protocol):
    """What a region does for one set of shapes."""

    def run(self, values: Values, threads: int) -> Region | None:
        """Add results to the values; return the region that goes on from there, if any."""
        ...


@dataclass
class Shop:
    """What all regions of a model share: the compiler, a lock, and the programs that are held."""

    compiler: Compiler
    lock: threading.RLock = field(default_factory=threading.RLock)
    programs: Recent[str, Program] = field(default_factory=lambda: Recent(MAX_PROGRAMS))


def needs() -> tuple[type[Exception], ...]:
    """Return what the importer raises for what takes stages; only an error imports it."""
    from nn_opt.frontends.onnx.evaluation import NeedsHost, NeedsValue

    return NeedsValue, NeedsHost


class Region:
    """A part of a model between values that are known when it runs."""

    def __init__(
        self,
        shop: Shop,
        key: str,
        part: Part,
        model: Callable[[], Model],
        baked: Mapping[str, Array] | None = None,
    ) -> None:
        self.shop = shop
        self.key = key
        self.part = part
        self.baked = baked or {}
        self.steps: Recent[Shapes, Step] = Recent()
        self._make_model = model

    @cached_property
    def model(self) -> Model:
        """The part as a model; it is only made if something is to be compiled."""
        return self._make_model()

    def run(self, values: Values, threads: int) -> None:
        """Add the part's outputs to the values."""
        region: Region | None = self
        while region is not None:
            region = region.step(values).run(values, threads)

    def step(self, values: Values) -> Step:
        """Return what is done for inputs of the values' shapes."""
        shapes = tuple([values[name].shape for name in self.part.inputs])
        found = self.steps.find(shapes)
        if found is not None:
            return found
        arrays = ((name, values[name]) for name in self.part.inputs)
        inputs = [TensorInfo(name, array.shape, array.dtype) for name, array in arrays]
        with self.shop.lock:
            return self.steps.find(shapes) or self.steps.keep(shapes, self._made(inputs))

    def _made(self, inputs: Sequence[TensorInfo]) -> Step:
        key = key_of([self.key, json.dumps([info.sizes for info in inputs])])
        known = self.shop.compiler.fetch(key)
        if known is not None and known.manifest.cut:
            return step_of(self, key, Cut.from_json(known.manifest.cut))
        return self._compiled(key, inputs, known)

    def _compiled(self, key: str, inputs: Sequence[TensorInfo], known: Artifact | None) -> Step:
        step = Compiled(self, key, inputs)
        try:
            step.load(known)
        except needs() as need:
            return self.cut_for(key, need)
        return step

    def module(self, inputs: Sequence[TensorInfo]) -> ModuleOp:
        """Return the part as IR.

        Raises: NeedsValue if it cannot be without some value that only a run gives.
        """
        from nn_opt.frontends.onnx.importer import import_part
        from nn_opt.frontends.onnx.signature import InputSpec

        return import_part(self.model, [InputSpec(i.name, i.dtype, i.sizes) for i in inputs])

    def cut_for(self, key: str, need: Any) -> Step:
        """Return the step that computes a value first, or runs a node, then what needs it."""
        from nn_opt.frontends.onnx.evaluation import NeedsHost
        from nn_opt.staged.cutting import cut_at_node, cut_at_value

        if isinstance(need, NeedsHost):
            cut = cut_at_node(self.model, self.part, need.node, need.choices)
        elif need.value in self.baked:
            raise need
        else:
            cut = cut_at_value(self.model, self.part, need.value, need.choices)
            move = need.node if need.operator in MOVES else ""
            cut = replace(cut, move=move)
        self.shop.compiler.keep_cut(key, cut.to_json())
        return step_of(self, key, cut)


class Compiled:
    """A program; if it was let go of, it is loaded again."""

    def __init__(self, region: Region, key: str, inputs: Sequence[TensorInfo]) -> None:
        self._region = region
        self._key = key
        self._inputs = inputs
        self._programs = region.shop.programs
        self._names = region.part.outputs

    @property
    def program(self) -> Program:
        return self._programs.find(self._key) or self.load(None)

    def run(self, values: Values, threads: int) -> None:
        program = self.program
        given = [values[info.name] for info in self._inputs]
        check_indices(program.manifest.index_ranges, self._inputs, given)
        made = new_outputs(program.manifest.outputs)
        program.run(given, made, threads)
        values.update(zip(self._names, made, strict=True))
        if (tell := on_run.get()) is not None:
            tell(self, given)

    def timed(self) -> Program:
        """Return the program with a time stamp after each kernel."""
        region, compiler, key = self._region, self._region.shop.compiler, f"{self._key} timed"
        with region.shop.lock:
            artifact = compiler.fetch(key_of([key])) or compiler.build(
                key_of([key]), lambda: region.module(self._inputs), profile=True
            )
            return compiler.load(artifact)

    def text(self, level: str) -> str:
        """Return the program as IR at a level, below a line that says what it is of."""
        region = self._region
        given = ", ".join(info.name for info in self._inputs) or "nothing"
        known = [f"{name} = {array.tolist()}" for name, array in region.baked.items()]
        said = f"{given} -> {', '.join(self._names)}" + "".join(f", with {k}" for k in known)
        text = region.shop.compiler.module_text(level, region.module(self._inputs))
        return f"// {said}\n{text}"

    def load(self, known: Artifact | None) -> Program:
        """Load the program, which is compiled if the cache has it not.

        Raises: NeedsValue as `Region.module` does.
        """
        region, compiler = self._region, self._region.shop.compiler
        with region.shop.lock:
            artifact = known or compiler.fetch(self._key)
            artifact = artifact or compiler.build(self._key, lambda: region.module(self._inputs))
            return self._programs.keep(self._key, compiler.load(artifact))


def step_of(region: Region, key: str, cut: Cut) -> Step:
    """Return what a region does that is cut."""
    return HostCut(region, key, cut) if cut.node else CutStep(region, key, cut)


def part_region(
    region: Region, key: str, cut: Cut, part: Part, baked: Mapping[str, Array] | None = None
) -> Region:
    """Return a part of a region that is cut; `baked` are the values it gets as constants."""

    def model() -> Model:
        from nn_opt.frontends.onnx.baking import weight_of
        from nn_opt.staged.cutting import part_of

        weights = {name: weight_of(name, array) for name, array in (baked or {}).items()}
        return part_of(region.model, cut, part, weights)

    return Region(region.shop, key, part, model, {**region.baked, **(baked or {})})


class HostCut:
    """Values are computed, then the host runs a node, and then the rest goes on."""

    def __init__(self, region: Region, key: str, cut: Cut) -> None:
        stamps = [key_of([key, name]) for name in ("first", "node", "rest")]
        self.first = part_region(region, stamps[0], cut, cut.first) if cut.first else None
        self.rest = part_region(region, stamps[2], cut, cut.rest)
        self._region, self._cut, self._stamp = region, cut, stamps[1]

    @cached_property
    def host(self) -> HostStep:
        """The node; what runs it is made when it is reached."""
        from nn_opt.staged.plan import host_step

        return host_step(self._region, self._cut, self._stamp)

    def run(self, values: Values, threads: int) -> Region | None:
        if self.first is not None:
            self.first.run(values, threads)
        self.host.run(values, threads)
        return self.rest if self.rest.part.outputs else None


class CutStep:
    """A value is computed, then goes on what is compiled for its bits."""

    def __init__(self, region: Region, key: str, cut: Cut) -> None:
        self.region = region
        self.cut = cut
        self._key = key
        first = key_of([key, "first"])
        self.first = part_region(region, first, cut, cut.first) if cut.first else None
        self.rests: Recent[tuple[Any, ...], Region] = Recent()
        self.moved: HostCut | None = None

    def run(self, values: Values, threads: int) -> Region | None:
        if self.moved is not None:
            return self.moved.run(values, threads)
        if self.first is not None:
            self.first.run(values, threads)
        array = values[self.cut.value]
        bits = (array.shape, array.tobytes())
        rest = self.rests.find(bits)
        if rest is None and self.cut.move and len(self.rests) == MOST_BAKED:
            self.moved = self._on_host()
            return self.moved.run(values, threads)
        if rest is None:
            with self.region.shop.lock:
                rest = self.rests.find(bits) or self.rests.keep(bits, self._rest(array))
        return rest

    def _on_host(self) -> HostCut:
        """Return the same with the host doing what needs the value, which changes often."""
        from nn_opt.staged.cutting import cut_at_node

        region, cut = self.region, self.cut
        return HostCut(
            region,
            key_of([self._key, "moved"]),
            cut_at_node(region.model, region.part, cut.move, cut.choices),
        )

    def _rest(self, array: Array) -> Region:
        name = self.cut.value
        if array.nbytes > MAX_BAKED_BYTES:
            from nn_opt.ir.diagnostics import DiagnosticError

            raise DiagnosticError(
                f"error: '{name}' must be known when what depends on it is compiled, but it has"
                f" {array.nbytes} bytes, more than {MAX_BAKED_BYTES}"
            )
        value = array.copy()
        stamp = [self._key, "rest", value.dtype.str, json.dumps(value.shape), value.tobytes()]
        return part_region(self.region, key_of(stamp), self.cut, self.cut.rest, {name: value})
