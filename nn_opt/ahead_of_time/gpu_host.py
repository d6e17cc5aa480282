"""A host in C for the kernels of a model: the launch plan as tables, and what runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template

from nn_opt.ahead_of_time.request import COMPILER, Request
from nn_opt.ahead_of_time.source_text import listing
from nn_opt.backends.source.gpu_program import KernelSource
from nn_opt.backends.source.program import plain
from nn_opt.runtime.launch_plan import Copy, Launch, LaunchPlan, Place
from nn_opt.runtime.manifest import TensorInfo

_OPENCL = """Build: cc -O2 -c {c}; link with -lOpenCL. No header of OpenCL's is needed."""
_CUDA = """Build: cc -O2 -c {c}; link with -lcuda. No header of CUDA's is needed.
 * Kernels: nvcc -fatbin -fmad=false -arch=all-major {kernels} makes an image for all GPUs,
 * nvcc -cubin -fmad=false -arch=sm_90 {kernels} one for some.
 * -fmad=false leaves sums of products as they are written, so that numbers stay the same."""
_HOSTS = {"opencl": ("OpenCL devices", _OPENCL), "cuda": ("NVIDIA's GPUs", _CUDA)}


def host_files(
    request: Request, source: KernelSource, plan: LaunchPlan, names: Sequence[str]
) -> dict[str, bytes]:
    """Return the host's C file and header; none for languages whose hosts are not in C.

    names: the files of the kernels, of the plan and of the weights.
    """
    if plan.language not in _HOSTS:
        return {}
    kernels_file, plan_file, weights_file = map(plain, names)
    what, build = _HOSTS[plan.language]
    c_file, header = f"{request.stem}.c", f"{request.stem}.h"
    words: dict[str, object] = {
        "title": f"{plain(request.title)}, compiled by {COMPILER}",
        "what": what,
        "name": request.name,
        "guard": request.name.upper(),
        "build": build.format(c=plain(c_file), kernels=kernels_file),
        "header": header,
        "kernels_file": kernels_file,
        "plan_file": plan_file,
        "weights_file": weights_file,
        "weight_bytes": sum(buffer.size for buffer in plan.with_role("weights")),
        "launches": plan.launches,
        "inputs": listing(_infos(plan, "input")),
        "outputs": listing(_infos(plan, "output")),
        "text": "\n".join(f"  {_c_string(line)}," for line in source.text.splitlines(True)),
        **_tables(plan),
    }
    words["create"] = _filled(f"create_{plan.language}.h", words)
    code = _filled("common.c", words) + _filled(f"{plan.language}.c", words)
    return {c_file: code.encode(), header: _filled("header.h", words).encode()}


def _filled(name: str, words: dict[str, object]) -> str:
    text = (files("nn_opt.ahead_of_time") / "host" / name).read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _infos(plan: LaunchPlan, role: str) -> list[TensorInfo]:
    return [TensorInfo(b.name, b.shape, b.numpy_dtype) for b in plan.with_role(role)]


@dataclass
class _Flat:
    """A plan's steps, the loops written out; buffers and kernels by number."""

    plan: LaunchPlan
    regions: dict[tuple[int, int, int], int] = field(
        default_factory=dict[tuple[int, int, int], int]
    )
    arguments: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    steps: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.buffers = {buffer.name: k for k, buffer in enumerate(self.plan.buffers)}
        self.kernels = {kernel.name: k for k, kernel in enumerate(self.plan.kernels)}
        for step, around in self.plan.run():
            self._add(step, around)

    def _add(self, step: Launch | Copy, around: Sequence[int]) -> None:
        first = len(self.arguments)
        if isinstance(step, Launch):
            number, grid = self.kernels[step.kernel], step.grid
            written = [argument.written for argument in self.plan.kernels[number].arguments]
            places = step.arguments
        else:
            number, grid = -1, (1, 1, 1)
            written, places = [False, True], (step.source, step.target)
        regions = (self._region(place, around) for place in places)
        self.arguments += zip(regions, written, strict=True)
        self.steps.append(f"  {{{number}, {first}, {len(places)}, {_braced(grid)}}},")

    def _region(self, place: Place, around: Sequence[int]) -> int:
        key = (self.buffers[place.buffer], place.at(around), place.size)
        return self.regions.setdefault(key, len(self.regions))


def _tables(plan: LaunchPlan) -> dict[str, object]:
    """Return the plan as C's tables; none is empty, which C does not know."""
    flat = _Flat(plan)
    return {
        "buffer_count": len(plan.buffers),
        "region_count": max(len(flat.regions), 1),
        "kernel_count": len(plan.kernels),
        "step_count": len(flat.steps),
        "input_count": len(plan.with_role("input")),
        "output_count": len(plan.with_role("output")),
        "weights_buffer": next((flat.buffers[b.name] for b in plan.with_role("weights")), -1),
        "most_arguments": max((len(kernel.arguments) for kernel in plan.kernels), default=1),
        "buffer_bytes": ", ".join(str(buffer.size) for buffer in plan.buffers),
        "input_buffers": _buffers(plan, "input", flat.buffers),
        "output_buffers": _buffers(plan, "output", flat.buffers),
        "kernel_names": ", ".join(_c_string(kernel.symbol) for kernel in plan.kernels) or '""',
        "kernel_blocks": ", ".join(_braced(kernel.block) for kernel in plan.kernels) or "{1, 1, 1}",
        "regions": "\n".join(f"  {_braced(key)}," for key in flat.regions) or "  {0, 0, 0}",
        "arguments": "\n".join(f"  {_braced(map(int, row))}," for row in flat.arguments)
        or "  {0, 0}",
        "steps": "\n".join(flat.steps) or "  {-1, 0, 0, {1, 1, 1}}",
    }


def _buffers(plan: LaunchPlan, role: str, numbers: dict[str, int]) -> str:
    return ", ".join(str(numbers[buffer.name]) for buffer in plan.with_role(role)) or "0"


def _braced(numbers: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


def _c_string(text: str) -> str:
    """Return a literal of C; what is not ASCII is in octal, which cannot run into what follows."""
    words = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "?": "\\?"}
    parts = (
        words.get(chr(b)) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode()
    )
    return f'"{"".join(parts)}"'
