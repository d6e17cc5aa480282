"""Models and kernels on a GPU: right, how near to what the device can do, and beside PyTorch.

    python -m bench.gpu                           a CUDA device; writes docs/gpu-bench.json, .md
    python -m bench.gpu --small --target opencl --out DIR    whether the script works, anywhere

It ends within `--minutes`: what does not fit is left out, and said to be. Models come first, then
kernels, then whole models; of each, the device's time and, of models, that of a call, too. PyTorch
is measured in the same run if it is installed with a CUDA device, eager and compiled.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from xdsl.utils.exceptions import PassFailedException, VerifyException

from bench import models, real_models
from bench.gpu_cases import Case, cases
from bench.gpu_clock import Clock, Peaks, peaks_of, torch_on_gpu
from nn_opt.backends.source.gpu_languages import language_of
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import set_target
from nn_opt.pipelines import expand, run_passes, scheduling_at_once
from nn_opt.reference import run as interpret
from nn_opt.runtime.device import DeviceArray, DeviceProgram
from nn_opt.runtime.gpu_program import open_device
from nn_opt.runtime.loader import RuntimeFault

PIPELINES = ("optimize-graph", "lower-to-loops", "lower-to-gpu")
RIGHT = ("resnet18", "mobilenet_v2", "bert_tiny")  # whose results are compared
TIMED = ("resnet50", "resnet18", "mobilenet_v2", "bert_tiny")
TRAINED = "orientation"
TOLERANCE = {"f32": 1e-4, "f16": 1e-2}  # of the largest result, in sums of 4096 products
INTERPRETED = 1 << 24  # operations that NumPy does quickly enough to judge a kernel
ROOT = Path(__file__).resolve().parents[1]
Array = NDArray[Any]


class OutOfTime(Exception):
    """There is too little time for something."""


# Of the compiler, the device or PyTorch: one kernel's fault leaves the others to be measured.
FAULTS = (OutOfTime, RuntimeFault, PassFailedException, VerifyException, RuntimeError)


@dataclass
class Row:
    """What was found of a model or kernel; microseconds of the device, and of a call."""

    name: str
    kind: str
    error: float | None = None  # largest difference to the judge, of its largest result
    launches: int | None = None
    device_us: float | None = None
    call_us: float | None = None
    roofline: float | None = None  # the least time that the device allows, of that which it took
    eager_us: float | None = None  # PyTorch's device time
    compiled_us: float | None = None
    eager_call_us: float | None = None
    compiled_call_us: float | None = None
    left_out: str = ""
    failed: bool = False


@dataclass
class Session:
    """One run of the script on a device."""

    target: str
    small: bool
    deadline: float
    clock: Clock
    device: str = ""
    peaks: Peaks | None = None
    rows: list[Row] = field(default_factory=list[Row])

    @property
    def torch(self) -> Any:
        return self.clock.torch

    def has(self, seconds: float) -> bool:
        """Return whether there is so much time left."""
        return time.monotonic() + seconds < self.deadline

    def add(self, name: str, kind: str, seconds: float, fill: Callable[[Row], None]) -> None:
        """Add a row; what cannot be measured, or not in the time that is left, is said in it."""
        row = Row(name, kind)
        self.rows.append(row)
        try:
            if not self.has(seconds):
                raise OutOfTime("no time was left")
            fill(row)
        except FAULTS as error:
            row.left_out = str(error).strip().split("\n")[0] or type(error).__name__
            row.failed = not isinstance(error, OutOfTime)

    def program(self, module: Any) -> DeviceProgram:
        """Return a module as kernels on the device."""
        set_target(module, self.target)
        passes = scheduling_at_once([step for name in PIPELINES for step in expand(name)])
        run_passes(make_context(), module, passes)
        source = print_kernels(module, language_of(module))
        plan, weights = plan_launches(module, source, signature_of(module))
        device = open_device(plan.language, source.text)
        self.device, self.peaks = device.name, peaks_of(device.name)
        return DeviceProgram(plan, device, weights.content())


def on_device(program: DeviceProgram, arrays: Sequence[Array]) -> dict[str, DeviceArray]:
    """Return inputs that are on the device."""
    found: dict[str, DeviceArray] = {}
    for buffer, array in zip(program.plan.with_role("input"), arrays, strict=True):
        handle = program.device.allocate(buffer.size)
        given = np.ascontiguousarray(array, buffer.numpy_dtype)
        program.device.write(handle, given.reshape(-1).view(np.uint8))
        found[buffer.name] = DeviceArray(program.device, handle, buffer.shape, given.dtype)
    return found


def enqueuing(program: DeviceProgram, inputs: Mapping[str, DeviceArray]) -> Callable[[], None]:
    """Return what launches a program in memory that is there already."""
    memory = {**program.memory, **{name: array.handle for name, array in inputs.items()}}
    for buffer in program.plan.with_role("output"):
        memory[buffer.name] = program.device.allocate(buffer.size)
    return lambda: program.enqueue(memory)


def difference(results: Sequence[Array], wanted: Sequence[Array]) -> float:
    """Return the largest difference, of the largest number wanted."""
    pairs = zip(results, wanted, strict=True)
    wide = [(np.asarray(g, np.float64), np.asarray(w, np.float64)) for g, w in pairs]
    return max(float(np.abs(g - w).max() / max(np.abs(w).max(), 1e-30)) for g, w in wide)


def measure_model(session: Session, name: str, model: onnx.ModelProto, *, timed: bool) -> None:
    """Compare a model with onnxruntime; time it if that is asked for."""
    feeds = models.sample_inputs(model) if name != TRAINED else real_models.sample_inputs(name)
    session.add(name, "model", 30, lambda row: fill_model(session, row, model, feeds, timed=timed))


def fill_model(
    session: Session, row: Row, model: onnx.ModelProto, feeds: Mapping[str, Array], *, timed: bool
) -> None:
    """Fill in what is found of a model."""
    import onnxruntime

    shapes = {key: array.shape for key, array in feeds.items()}
    program = session.program(import_model(model, shapes=shapes))
    judge = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in judge.get_inputs()]
    inputs = on_device(program, [feeds[key] for key in names])
    results = [array.numpy() for array in program.run(inputs).values()]
    row.error = difference(results, judge.run(None, dict(feeds)))
    row.launches = program.plan.launches
    if timed:
        work = enqueuing(program, inputs)
        row.call_us = 1e6 * session.clock.call(work, program.device.finish)
        row.device_us = 1e6 * session.clock.mine(work, program.device)
        if session.torch is not None:
            time_torch_model(session, row, model, [feeds[key] for key in names])


def time_torch_model(
    session: Session, row: Row, model: onnx.ModelProto, arrays: Sequence[Array]
) -> None:
    """Time the same operators in PyTorch."""
    from bench.torch_model import TorchModel

    torch = session.torch
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        twin = TorchModel(path).eval().cuda()
    inputs = [torch.from_numpy(np.array(array)).cuda() for array in arrays]
    with torch.inference_mode():
        times = [session.clock.call(lambda: twin(*inputs), torch.cuda.synchronize)]
        times.append(session.clock.theirs(lambda: twin(*inputs)))
        row.eager_call_us, row.eager_us = (1e6 * seconds for seconds in times)
        if session.has(120):
            quick = torch.compile(twin)
            times = [session.clock.call(lambda: quick(*inputs), torch.cuda.synchronize)]
            times.append(session.clock.theirs(lambda: quick(*inputs)))
            row.compiled_call_us, row.compiled_us = (1e6 * seconds for seconds in times)


def measure_case(session: Session, case: Case) -> None:
    """Check and time a kernel."""
    session.add(case.name, "kernel", 15, lambda row: fill_case(session, row, case))


def fill_case(session: Session, row: Row, case: Case) -> None:
    """Fill in what is found of a kernel."""
    module = parse_module(make_context(), case.text, "case.mlir")
    program = session.program(module.clone())
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal(buffer.shape, np.float32).astype(buffer.numpy_dtype)
        for buffer in program.plan.with_role("input")
    ]
    inputs = on_device(program, arrays)
    (result,) = (array.numpy() for array in program.run(inputs).values())
    wanted = judge_case(session, case, module, arrays)
    row.error = None if wanted is None else difference([result], [wanted])
    row.launches = program.plan.launches
    work = enqueuing(program, inputs)
    seconds = session.clock.mine(work, program.device)
    row.device_us = 1e6 * seconds
    if session.peaks is not None:
        row.roofline = session.peaks.seconds(case.flops, case.bytes, case.dtype) / seconds
    if session.torch is not None:
        time_torch_case(session, row, case, arrays)


def judge_case(session: Session, case: Case, module: Any, arrays: list[Array]) -> Array | None:
    """Return what a kernel has to compute; None if nothing here can say it soon enough."""
    if case.flops <= INTERPRETED:
        return interpret(module, arrays)[0]
    if session.torch is None:
        return None
    with session.torch.inference_mode():
        given = [session.torch.from_numpy(array).cuda().double() for array in arrays]
        return case.torch(session.torch, *given).cpu().numpy()


def time_torch_case(session: Session, row: Row, case: Case, arrays: Sequence[Array]) -> None:
    """Time the same operation in PyTorch, eager and compiled; f32 as f32, not as TF32."""
    torch = session.torch
    inputs = [torch.from_numpy(array).cuda() for array in arrays]

    def twin(*given: Any) -> Any:
        return case.torch(torch, *given)

    with torch.inference_mode():
        row.eager_us = 1e6 * session.clock.theirs(lambda: twin(*inputs))
        if session.has(60):
            quick = torch.compile(twin)
            row.compiled_us = 1e6 * session.clock.theirs(lambda: quick(*inputs))


def measure(session: Session) -> None:
    """Measure all that there is time for; the promises first."""
    build = models.build_small if session.small else models.build
    for name in RIGHT:
        measure_model(session, name, build(name), timed=False)
    path = real_models.find(TRAINED)
    if path is None or session.small:
        why = "full size only" if session.small else "run `python -m bench.real_models`"
        session.rows.append(Row(TRAINED, "model", left_out=why))
    else:
        measure_model(session, TRAINED, onnx.load(path), timed=False)
    for case in cases(session.small):
        measure_case(session, case)
    for name in TIMED[:1] if session.small else TIMED:
        measure_model(session, name, build(name), timed=True)


COLUMNS: dict[str, Callable[[Row], str]] = {
    "what": lambda row: row.name,
    "error": lambda row: "" if row.error is None else f"{row.error:.1e}",
    "launches": lambda row: "" if row.launches is None else str(row.launches),
    "device us": lambda row: _number(row.device_us),
    "of roofline": lambda row: "" if row.roofline is None else f"{row.roofline:.0%}",
    "torch eager us": lambda row: _number(row.eager_us),
    "compiled us": lambda row: _number(row.compiled_us),
    "faster than eager": lambda row: _ratio(row.eager_us, row.device_us),
    "than compiled": lambda row: _ratio(row.compiled_us, row.device_us),
    "call us (torch)": lambda row: " / ".join(
        _number(us) for us in (row.call_us, row.eager_call_us, row.compiled_call_us) if us
    ),
    "": lambda row: row.left_out,
}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _ratio(theirs: float | None, mine: float | None) -> str:
    return "" if theirs is None or mine is None else f"{theirs / mine:.2f}"


def page(session: Session) -> str:
    """Return a page of documentation."""
    lines = [
        "# GPU measurements",
        "",
        f"`python -m bench.gpu` on {session.device}; device time by {session.clock.kind}. Errors"
        " are relative to the largest result. A ratio above 1: nn-opt takes less time.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
    ]
    lines += [f"| {' | '.join(cell(row) for cell in COLUMNS.values())} |" for row in session.rows]
    return "\n".join([*lines, ""])


def write(session: Session, folder: Path) -> None:
    """Write the numbers and the page."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"device": session.device, "target": session.target, "timer": session.clock.kind}
    facts |= {"torch": None if session.torch is None else session.torch.__version__}
    facts |= {"small": session.small, "rows": [asdict(row) for row in session.rows]}
    (folder / "gpu-bench.json").write_text(json.dumps(facts, indent=1) + "\n")
    (folder / "gpu-bench.md").write_text(page(session))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write, and print a table; exit with 1 if a result was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu")
    parser.add_argument("--target", default="cuda", choices=("cuda", "opencl", "webgpu"))
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the script")
    parser.add_argument("--minutes", type=float, default=9, help="when to end at the latest")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder for the results")
    given = parser.parse_args(arguments)
    torch = torch_on_gpu() if given.target == "cuda" else None
    deadline = time.monotonic() + 60 * given.minutes
    session = Session(given.target, given.small, deadline, Clock(torch))
    try:
        measure(session)
    finally:
        write(session, given.out)
        table = Table(*COLUMNS, title=f"{session.device}, {session.clock.kind}")
        for row in session.rows:
            table.add_row(*(cell(row) for cell in COLUMNS.values()))
        Console(width=200).print(table)
    wrong = [row.name for row in session.rows if row.failed or (row.error or 0) > tolerance_of(row)]
    if wrong:
        raise SystemExit(f"wrong or failed: {', '.join(wrong)}")


def tolerance_of(row: Row) -> float:
    """Return the error that a row's type allows."""
    return TOLERANCE["f16" if row.name.endswith("f16") else "f32"]


if __name__ == "__main__":
    main()
