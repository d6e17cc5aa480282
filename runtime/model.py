"""`Model`: what `nn_opt.compile` returns."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from numpy.typing import NDArray

from nn_opt.runtime.arguments import (
    bind_inputs,
    copy_outputs,
    device_shapes,
    named,
    new_outputs,
    prepare_outputs,
    ready_inputs,
)
from nn_opt.runtime.index_ranges import check_indices
from nn_opt.runtime.loader import RuntimeFault
from nn_opt.runtime.manifest import Kernel, Manifest, Region, TensorInfo
from nn_opt.runtime.profile import KernelTime, measure
from nn_opt.runtime.program import Program
from nn_opt.runtime.recent import Recent
from nn_opt.runtime.specialization import Specialization
from nn_opt.runtime.threads import thread_count

if TYPE_CHECKING:
    from nn_opt.runtime.device import DeviceArray

Array = NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]  # of the inputs, in order


@runtime_checkable
class Staged(Protocol):
    """Several programs that run after each other; the shapes of outputs are known at the end."""

    def compute(self, arrays: Sequence[Array], threads: int) -> list[Any]:
        """Return the outputs."""
        ...

    def text(self, level: str) -> str:
        """Return the programs that ran last as IR at a level."""
        ...

    def profile(self, arrays: Sequence[Array], threads: int, repeat: int) -> list[KernelTime]:
        """Return each kernel's median time, of all programs that run."""
        ...


@runtime_checkable
class Composed(Protocol):
    """Several programs that together serve what was asked for."""

    def specializations(self) -> Iterable[Specialization]:
        """Yield every way through the model that was compiled."""
        ...


class Builder(Protocol):
    """The compiler's side of a model; injected, so that the runtime needs no compiler."""

    def program(self, shapes: Shapes, *, profile: bool = False) -> Any:
        """Return the model compiled for inputs of these shapes: a `Program`, or a `Staged`."""
        ...

    def text(self, level: str, shapes: Shapes) -> str:
        """Return the model's IR at a level, for inputs of these shapes."""
        ...


@dataclass(frozen=True)
class Memory:
    """Bytes a call needs besides inputs and outputs, and where each temporary lies in the arena."""

    arena_bytes: int
    weight_bytes: int
    plan: tuple[Region, ...]

    @property
    def peak_bytes(self) -> int:
        """Temporaries and weights together."""
        return self.arena_bytes + self.weight_bytes

    def _repr_html_(self) -> str:
        from nn_opt.runtime.html import memory_html

        return memory_html(self.plan, self.arena_bytes, self.weight_bytes)


@cache
def _is_staged(kind: type) -> bool:
    """Return what `isinstance` takes several microseconds to say at each call."""
    return issubclass(kind, Staged)


class Model:
    """A compiled model; with inputs of unknown sizes, each set is compiled at its first call."""

    def __init__(self, manifest: Manifest, builder: Builder, threads: int) -> None:
        self.inputs: tuple[TensorInfo, ...] = manifest.inputs
        self.outputs: tuple[TensorInfo, ...] = manifest.outputs
        self.threads = threads
        self._builder = builder
        self._programs: Recent[Shapes, Program] = Recent()
        self._profiled: Recent[Shapes, Program] = Recent()
        self._has_stages = False
        self._lock = threading.Lock()
        self._latest: tuple[Shapes, Program | None] | None = None  # None: a profiled one
        self._only: Program | None = None  # where the sizes of all inputs are known
        self._names = [info.name for info in self.outputs]
        if manifest.hosted:
            self._only = self._at((), self._programs)
        elif manifest.is_static:
            shapes = tuple(info.sizes for info in manifest.inputs)
            self._only = self._at(shapes, self._programs)
            self.outputs = self._only.manifest.outputs

    def __repr__(self) -> str:
        inputs, outputs = ("; ".join(map(str, infos)) for infos in (self.inputs, self.outputs))
        return f"Model({inputs} -> {outputs})"

    def _repr_html_(self) -> str:
        from nn_opt.runtime.html import kernels_html, memory_html, tensors_html

        parts = [tensors_html(self.inputs, self.outputs)]
        if self._only is not None or self._latest is not None:
            memory = self.memory
            parts.append(kernels_html(self.kernels))
            parts.append(memory_html(memory.plan, memory.arena_bytes, memory.weight_bytes))
        return "".join(parts)

    def __call__(self, *arrays: object) -> Any:
        """Run on inputs in order; return the one output, or a tuple of them."""
        results = tuple(self.run(named(self.inputs, arrays)).values())
        return results[0] if len(results) == 1 else results

    def run(
        self,
        inputs: Mapping[str, object],
        *,
        out: Mapping[str, Array] | None = None,
        threads: int | None = None,
    ) -> dict[str, Array]:
        """Run on named inputs and return named outputs, those in `out` written in place.

        Raises: ValueError or TypeError naming the input or output that does not fit.
        """
        arrays, program = self._bound(inputs)
        count = self.threads if threads is None else thread_count(threads)
        if self._has_stages and _is_staged(type(program)):
            return self._named(cast("Staged", program).compute(arrays, count), out or {})
        if program.manifest.index_ranges:
            check_indices(program.manifest.index_ranges, self.inputs, arrays)
        if not out:
            made = new_outputs(program.manifest.outputs)
            program.run(arrays, made, count)
            return dict(zip(self._names, made, strict=True))
        pairs = prepare_outputs(program.manifest.outputs, out, arrays)
        program.run(arrays, [written for written, _ in pairs], count)
        for written, wanted in pairs:
            if written is not wanted:
                wanted[...] = written
        return {name: pair[1] for name, pair in zip(self._names, pairs, strict=True)}

    def _bound(self, inputs: Mapping[str, object]) -> tuple[list[Array], Program]:
        """Return the inputs in order and the program that takes them: most often the last one."""
        if self._latest is not None:
            shapes, program = self._latest
            arrays = ready_inputs(self.inputs, shapes, inputs)
            if program is not None and arrays is not None:
                return arrays, program
        arrays = bind_inputs(self.inputs, inputs)
        return arrays, self._only or self._program(arrays, self._programs)

    def _named(self, made: Sequence[Any], out: Mapping[str, Array]) -> dict[str, Any]:
        """Return named outputs of a staged model; those in `out` are copied there."""
        results = dict(zip(self._names, made, strict=True))
        copy_outputs(results, out)
        return results | dict(out)

    def run_on_device(self, inputs: Mapping[str, object]) -> dict[str, DeviceArray]:
        """Run on named inputs and return named outputs that stay on the device.

        Inputs may be outputs of such a call, or what shares memory of the device by DLPack: those
        are not copied. Arrays of the host are. The outputs' `numpy()` copies them to the host.

        Raises: RuntimeFault if the target has no device of its own, ValueError or TypeError naming
        the input that does not fit.
        """
        shapes = device_shapes(self.inputs, inputs)
        program = self._only or self._at(shapes, self._programs)
        run = getattr(program, "run_on_device", None)
        if run is None:
            hint = "compile for target 'opencl', 'cuda' or 'webgpu'"
            raise RuntimeFault(f"error: the target has no device of its own\n  hint: {hint}")
        return run(inputs)

    def prepare(self, *shapes: Sequence[int]) -> None:
        """Compile for inputs of these shapes now (none if known) rather than at the first call."""
        self._at(tuple(map(tuple, shapes)) or self._known(), self._programs)

    @property
    def memory(self) -> Memory:
        """What a call needs; for unknown sizes, the latest call's.

        Raises: ValueError if the sizes are unknown and there was no call.
        """
        manifest = self._at(self._known(), self._programs).manifest
        return Memory(manifest.arena_bytes, manifest.weight_bytes, manifest.arena_plan)

    @property
    def launches(self) -> int:
        """How many kernels a call launches on a device, 0 on the CPU; sizes as for `memory`."""
        return self._at(self._known(), self._programs).manifest.launches

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that a call runs, in order; sizes as for `memory`."""
        return self._at(self._known(), self._programs).manifest.kernels

    @property
    def specializations(self) -> tuple[Specialization, ...]:
        """What the model was compiled for so far, the latest at the end.

        Of the shapes of inputs, those of the last 64 calls with others than before are held.
        """
        names = [info.name for info in self.inputs]
        found: list[Specialization] = []
        for shapes, program in self._programs.items():
            if isinstance(program, Composed):
                found += program.specializations()
            else:
                found.append(Specialization(dict(zip(names, shapes, strict=True)), {}))
        return tuple(found)

    def ir(self, level: str) -> str:
        """Return the IR at a level: "graph", "tensor", "loop", "llvm"; sizes as for `memory`.

        Of a model that runs as several programs, those of the latest call in their order, each
        below a line that says what it computes of what, divided by lines `// -----`.
        """
        program = self._programs.find(self._known())
        if isinstance(program, Staged):
            return program.text(level)
        return self._builder.text(level, self._known())

    def profile(self, inputs: Mapping[str, object], repeat: int = 10) -> list[KernelTime]:
        """Return each kernel's median time over some runs of a variant compiled for timing."""
        arrays = bind_inputs(self.inputs, inputs)
        held = self._only or self._programs.find(tuple(array.shape for array in arrays))
        program: Any = held if isinstance(held, Staged) else self._program(arrays, self._profiled)
        if isinstance(program, Staged):
            return program.profile(arrays, self.threads, repeat)
        check_indices(program.manifest.index_ranges, self.inputs, arrays)
        outputs = new_outputs(program.manifest.outputs)
        return measure(program, arrays, outputs, self.threads, repeat)

    def _program(self, arrays: Sequence[Array], programs: Recent[Shapes, Program]) -> Program:
        return self._at(tuple(array.shape for array in arrays), programs)

    def _at(self, shapes: Shapes, programs: Recent[Shapes, Program]) -> Program:
        program = programs.find(shapes)
        if program is None:
            with self._lock:
                program = programs.find(shapes) or self._built(shapes, programs)
        self._latest = shapes, program if programs is self._programs else self._only
        return program

    def _built(self, shapes: Shapes, programs: Recent[Shapes, Program]) -> Program:
        program = self._builder.program(shapes, profile=programs is self._profiled)
        self._has_stages |= isinstance(program, Staged)
        return programs.keep(shapes, program)

    def _known(self) -> Shapes:
        if self._latest is None:
            names = "; ".join(map(str, self.inputs))
            raise ValueError(f"sizes are not known before the first call: {names}")
        return self._latest[0]
