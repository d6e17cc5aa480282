"""nn-run: compile a model, run it, time it, compare it with another runtime."""

from __future__ import annotations

import statistics
import sys
import time
import zipfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from nn_opt.compiler import compile
from nn_opt.driver.inputs import random_inputs, read_arrays
from nn_opt.driver.models import (
    Parser,
    fail,
    model_parser,
    parse_dims,
    parse_shapes,
    progress_bar,
    report_errors,
)
from nn_opt.driver.peers import PEERS, make_peer, relative_error
from nn_opt.driver.value_text import parse_values
from nn_opt.runtime.index_ranges import OutOfRange
from nn_opt.runtime.model import Model

if TYPE_CHECKING:
    from rich.console import Console

Array = NDArray[Any]
EXACT = "f32"  # what results of another precision are compared with
WIDTH = 120  # columns where the output is no terminal


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; return its exit status."""
    return report_errors(_run, argv)


def make_parser() -> Parser:
    """Return the parser of the tool."""
    parser = model_parser("nn-run", "Compile a model, run it on given or random inputs, time it.")
    add = parser.add_argument
    add("--input", action="append", default=[], metavar="x=x.npy", help="file with an input")
    add("--seed", type=int, default=0, help="of the random inputs (0)")
    add("--repeat", type=int, default=10, metavar="N", help="runs to time (10)")
    add("--threads", type=int, metavar="N", help="threads to use (all that the process may)")
    add("--compare", choices=PEERS, help="run it there too: largest error, speeds side by side")
    add("--per-node", action="store_true", help="with --compare: each value of the model")
    add("--tolerance", type=float, default=1e-3, metavar="E", help="... differs above this (1e-3)")
    add("--minimize", metavar="FILE", help="... and save the smallest part that differs")
    add("--profile", action="store_true", help="print the time and speed of each operator")
    add("--save-outputs", metavar="FILE", help="write the outputs to this .npz file")
    return parser


def _run(argv: list[str]) -> None:
    options = make_parser().parse_args(argv)
    if options.repeat < 1:
        fail(f"error: --repeat is {options.repeat}, expected 1 or more")
    if options.compare and not options.model.endswith(".onnx"):
        fail(f"error: --compare needs an ONNX model, got {options.model}")
    if (options.per_node or options.minimize) and not options.compare:
        fail("error: --per-node and --minimize need another runtime\n  hint: --compare onnxruntime")
    given = read_arrays(options.input)
    start = time.perf_counter()
    model, inputs, outputs = _compile_and_run(options, given)
    ready = time.perf_counter() - start
    console = _console()
    console.print(f"{Path(options.model).name}: compiled, loaded and run once in {ready:.2f} s")
    _print_factors(console, model)
    if model.launches:
        console.print(f"Launches: {model.launches} kernels a call")
    _print_outputs(console, outputs)
    if options.save_outputs:
        _save(options.save_outputs, outputs)
    if options.per_node or options.minimize:
        _compare_nodes(console, options, _of_all_inputs(options, inputs))
        return
    _time(console, options, model, inputs, outputs)
    if options.profile:
        _profile(console, model, inputs, options.repeat)


def _compile_and_run(
    options: Namespace, given: Mapping[str, Array]
) -> tuple[Model, dict[str, Array], dict[str, Array]]:
    model = _compile(options, options.precision)
    inputs = random_inputs(model.inputs, given, options.seed)
    try:
        return model, inputs, _first_run(model, inputs, given)
    except (ValueError, TypeError, MemoryError) as error:
        fail(f"error: {error}")


def _first_run(
    model: Model, inputs: dict[str, Array], given: Mapping[str, Array]
) -> dict[str, Array]:
    """Run on inputs; random ones that are indices are brought into their range, once known."""
    while True:
        try:
            return model.run(inputs)
        except OutOfRange as error:
            if error.name in given or error.name not in inputs or not error.size:
                raise
            inputs[error.name] %= error.size


def _compile(options: Namespace, precision: str) -> Model:
    with progress_bar() as progress:
        return compile(
            options.model,
            **_options(options, precision),
            dims=parse_dims(options.dim),
            shapes=parse_shapes(options.shape),
            values=parse_values(options.value),
            debug_info=options.debug_info,
            cache=not options.no_cache,
            progress=progress,
        )


def _options(options: Namespace, precision: str) -> dict[str, Any]:
    """Return the options of `compile` apart from what binds sizes."""
    return {
        "target": options.target,
        "threads": options.threads,
        "winograd": options.winograd,
        "precision": precision,
        "deterministic": options.deterministic,
    }


def _of_all_inputs(options: Namespace, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return the inputs, and what others hold always: another runtime takes those, too."""
    values = parse_values(options.value)
    if not values:
        return dict(inputs)
    from nn_opt.frontends.onnx import read_model  # with the compiler, which most runs can spare
    from nn_opt.frontends.onnx.baking import of_inputs

    return {**inputs, **of_inputs(read_model(options.model), values)}


def _compare_nodes(console: Console, options: Namespace, inputs: Mapping[str, Array]) -> None:
    from nn_opt.driver.per_node import Subject, compare, load_whole, summary

    chosen = _options(options, options.precision)
    proto = load_whole(options.model)
    subject = Subject(proto, options.compare, options.tolerance, chosen)
    comparison = compare(subject, inputs)
    title = f"Values beside {options.compare}'s, in order"
    columns = ["node", "operator", "value", "shape", "largest", "relative", "node alone"]
    console.print(_table(title, columns, comparison.cells()))
    console.print(summary(subject, comparison))
    if options.minimize:
        from nn_opt.driver.minimize import minimize
        from nn_opt.ir.files import write_bytes

        small = minimize(subject, comparison)
        write_bytes(options.minimize, small.SerializeToString(deterministic=True))
        console.print(f"{options.minimize}: {len(small.graph.node)} node(s) that differ")


def _console() -> Console:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """Return a table; columns of numbers stand to the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        is_number = all(row[k][:1] in "-0123456789" for row in rows)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _print_factors(console: Console, model: Model) -> None:
    """Say how many kernels multiply numbers of which type, if some are narrower than float32."""
    counts = Counter(kernel.factors for kernel in model.kernels if kernel.factors)
    if set(counts) - {"float32"}:
        parts = [f"{factors} in {count} kernel(s)" for factors, count in counts.most_common()]
        console.print(f"Products: {', '.join(parts)}")


def _print_outputs(console: Console, outputs: Mapping[str, Array]) -> None:
    rows = [[name, *_summary(array)] for name, array in outputs.items()]
    console.print(_table("Outputs", ["name", "type", "shape", "min", "mean", "max"], rows))


def _summary(array: Any) -> list[str]:
    """Return type, shape and extremes; of strings, sequences and maps how many there are."""
    if not isinstance(array, np.ndarray):
        is_list = isinstance(array, list)
        count = str(len(cast("list[Any]", array))) if is_list else "-"
        return ["list" if is_list else "none", count, "-", "-", "-"]
    array = cast(Array, array)
    shape = "x".join(map(str, array.shape)) or "scalar"
    if not array.size or array.dtype == object:
        return [array.dtype.name, shape, "-", "-", "-"]
    values = array.astype(np.float64)
    numbers = (values.min(), values.mean(), values.max())
    return [array.dtype.name, shape, *(f"{number:.6g}" for number in numbers)]


def _save(path: str, outputs: Mapping[str, Array]) -> None:
    try:
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in outputs.items():  # not by np.savez: it has names of its own
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
    except OSError as error:
        fail(f"{path}: error: {error.strerror}")


@dataclass
class Contestant:
    """Something that is timed, and what its runs took."""

    name: str
    run: Callable[[], object]
    seconds: list[float]

    @property
    def median(self) -> float:
        """The median of the runs, in seconds."""
        return statistics.median(self.seconds)


def _time(
    console: Console,
    options: Namespace,
    model: Model,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
) -> None:
    contestants = [Contestant("nn-opt", lambda: model.run(inputs), [])]
    if options.precision != EXACT:
        exact = _compile(options, EXACT)
        errors = [relative_error(outputs[n], e) for n, e in exact.run(inputs).items()]
        console.print(f"Largest relative error against {EXACT}: {max(errors):.2e}")
        contestants.append(Contestant(f"nn-opt {EXACT}", lambda: exact.run(inputs), []))
    if options.compare:
        given = _of_all_inputs(options, inputs)
        peer = make_peer(options.compare, options.model, given, list(outputs), model.threads)
        expected = peer()
        errors = [relative_error(outputs[n], e) for n, e in zip(outputs, expected, strict=True)]
        console.print(f"Largest relative error against {options.compare}: {max(errors):.2e}")
        contestants.append(Contestant(options.compare, peer, []))
    interleave(contestants, options.repeat)
    rows = [[c.name, f"{c.median * 1e3:.3f}", f"{min(c.seconds) * 1e3:.3f}"] for c in contestants]
    title = f"Time of {options.repeat} runs, {model.threads} thread(s)"
    console.print(_table(title, ["runtime", "median ms", "best ms"], rows))
    if options.compare:
        ratio = contestants[0].median / contestants[-1].median
        console.print(f"nn-opt takes {ratio:.2f} of {options.compare}'s time")


def interleave(contestants: Sequence[Contestant], repeat: int) -> None:
    """Time runs in turn, so that a busy machine slows all alike.

    Each timed run follows one that is not, since the others have emptied the caches.
    """
    for _ in range(repeat):
        for contestant in contestants:
            contestant.run()
            start = time.perf_counter()
            contestant.run()
            contestant.seconds.append(time.perf_counter() - start)


def _profile(console: Console, model: Model, inputs: Mapping[str, Array], repeat: int) -> None:
    times = model.profile(inputs, repeat)
    total = sum(entry.seconds for entry in times) or 1.0
    rows = [
        [
            entry.kernel.name,
            ", ".join(entry.kernel.nodes),
            f"{entry.seconds * 1e3:.3f}",
            f"{entry.seconds / total:.1%}",
            f"{entry.gflops:.1f}",
        ]
        for entry in sorted(times, key=lambda entry: -entry.seconds)
    ]
    columns = ["kernel", "nodes", "ms", "share", "GFLOP/s"]
    console.print(_table(f"Kernels by time: {total * 1e3:.3f} ms in all", columns, rows))
