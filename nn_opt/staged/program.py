"""A staged model as a `Model` runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from nn_opt.runtime.arguments import new_outputs
from nn_opt.runtime.manifest import Manifest
from nn_opt.runtime.profile import KernelTime, measure
from nn_opt.runtime.specialization import Specialization
from nn_opt.staged.cuts import Cut, Part
from nn_opt.staged.regions import (
    Compiled,
    Compiler,
    Region,
    Shapes,
    Shop,
    Step,
    Values,
    on_run,
    step_of,
)

if TYPE_CHECKING:
    from nn_opt.frontends.onnx.reader import Model

Array = NDArray[Any]


class Stages:
    """The stages of a model, for all shapes of its inputs."""

    def __init__(
        self, compiler: Compiler, key: str, declared: Manifest, model: Callable[[], Model]
    ) -> None:
        names = [tuple(i.name for i in infos) for infos in (declared.inputs, declared.outputs)]
        self._declared = declared
        self._part = Part(*names)
        self._region = Region(Shop(compiler), key, self._part, model)

    def known(self, shapes: Shapes, key: str, cut: str) -> StagedProgram:
        """Return what runs for inputs of these shapes, cut as the cache says."""
        return self._program(shapes, step_of(self._region, key, Cut.from_json(cut)))

    def cut(self, shapes: Shapes, key: str, need: Exception) -> StagedProgram:
        """Return what runs for inputs of these shapes, cut before what needs a value."""
        return self._program(shapes, self._region.cut_for(key, need))

    def planned(self) -> StagedProgram:
        """Return what runs a model of which the host runs some nodes, for any inputs."""
        from nn_opt.staged.plan import Plan

        region = self._region
        kinds = {info.name: info.kind for info in self._declared.inputs}
        return self._program((), Plan(region.shop, region.key, region.model, self._part, kinds))

    def _program(self, shapes: Shapes, step: Step) -> StagedProgram:
        return StagedProgram(self._declared, shapes, self._region.shop, step)


class StagedProgram:
    """What runs a model for one set of shapes of its inputs, one program after the other."""

    def __init__(self, declared: Manifest, shapes: Shapes, shop: Shop, step: Step) -> None:
        self._declared = declared
        self._shapes = shapes
        self._shop = shop
        self._step = step
        self._inputs = [info.name for info in declared.inputs]
        self._outputs = [info.name for info in declared.outputs]

    def compute(self, arrays: Sequence[Array], threads: int) -> list[Any]:
        """Return the outputs for inputs of the shapes."""
        values: Values = dict(zip(self._inputs, arrays, strict=True))
        region = self._step.run(values, threads)
        if region is not None:
            region.run(values, threads)
        return [self._own(values[name], arrays) for name in self._outputs]

    def _own(self, value: Any, arrays: Sequence[Array]) -> Any:
        """Return an output; one that is an input is copied, as programs do."""
        return value.copy() if any(value is array for array in arrays) else value

    @property
    def manifest(self) -> Manifest:
        """What the programs that ran so far say of themselves, together."""
        parts = [program.manifest for _, program in self._shop.programs.items()]
        return replace(
            self._declared,
            kernels=tuple(kernel for part in parts for kernel in part.kernels),
            arena_bytes=max((part.arena_bytes for part in parts), default=0),
            weight_bytes=sum(part.weight_bytes for part in parts),
            launches=sum(part.launches for part in parts),
        )

    def text(self, level: str) -> str:
        """Return the programs that ran last, in order, as IR at a level.

        Raises: ValueError before the first call.
        """
        from nn_opt.staged.ways import programs_of

        texts = [program.text(level) for program in programs_of(self._step)]
        if not texts:
            raise ValueError("no program is compiled before the first call")
        return "\n// -----\n".join(texts)

    def profile(self, arrays: Sequence[Array], threads: int, repeat: int) -> list[KernelTime]:
        """Return each kernel's median time, of all programs in the order in which they run."""
        times: dict[tuple[Compiled, int], KernelTime] = {}

        def tell(compiled: Compiled, given: list[Array]) -> None:
            program = compiled.timed()
            made = new_outputs(program.manifest.outputs)
            for k, time in enumerate(measure(program, given, made, threads, repeat)):
                before = times.get((compiled, k))
                seconds = time.seconds + (before.seconds if before else 0)
                times[compiled, k] = KernelTime(time.kernel, seconds)

        token = on_run.set(tell)
        try:
            self.compute(arrays, threads)
        finally:
            on_run.reset(token)
        return list(times.values())

    def specializations(self) -> Iterator[Specialization]:
        """Yield every way through the model that was compiled for these shapes."""
        from nn_opt.staged.ways import ways

        shapes = dict(zip(self._inputs, self._shapes, strict=False))
        for way in ways(self._step):
            values = {name: array.tolist() for name, array in way.baked.items()}
            yield Specialization(shapes, values, way.stages, way.host)
