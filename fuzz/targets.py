"""What is fuzzed: a function of bytes for each kind of file that nn-opt reads, and its seeds.

A target may refuse its input by a diagnostic. Anything else that it raises is a finding.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from xdsl.utils.exceptions import DiagnosticException

from fuzz.edits import edited
from nn_opt.frontends.onnx import describe_inputs, import_model, read_model
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify
from nn_opt.ir.weights import WeightsFile
from nn_opt.pipeline_text import parse_text
from nn_opt.runtime import artifact, launch_plan, manifest

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(__file__).resolve().parent / "corpus"
DIAGNOSED = (DiagnosticError, DiagnosticException)
UNKNOWN = 2  # the size given to a dimension that a model leaves open


@dataclass(frozen=True)
class Target:
    """A reader: `read` takes bytes, and raises one of `refusals` for what it does not take."""

    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    seeds: Callable[[], Iterator[bytes]]
    most_bytes: int = 4096

    def run(self, data: bytes) -> bool:
        """Return whether the bytes are taken; raises what is a finding."""
        try:
            self.read(data)
        except self.refusals:
            return False
        return True


def read_text(data: bytes) -> None:
    """Parse and verify IR; what is right prints, and parses again."""
    module = parse_module(make_context(), data.decode("utf-8", "replace"), "fuzz.mlir")
    verify(module)
    parse_module(make_context(), print_module(module), "printed.mlir")


def read_onnx(data: bytes) -> None:
    """Import a model, its unknown sizes taken as 2."""
    model = read_model(data)
    shapes = {
        spec.name: [size if isinstance(size, int) else UNKNOWN for size in spec.shape or ()]
        for spec in describe_inputs(model)
    }
    verify(import_model(model, shapes=shapes))


def read_edited(data: bytes) -> None:
    """Import a model of the corpus with some fields changed."""
    read_onnx(edited(list(kept("onnx")()), data))


def read_file(read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """Return a reader of bytes of one that takes a path."""

    def run(data: bytes) -> None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            read(Path(file.name))

    return run


def all_weights(path: Path) -> None:
    """Read every array of a file of weights."""
    arrays = WeightsFile(path)
    for name in arrays:
        arrays[name]


def files(*patterns: str) -> Callable[[], Iterator[bytes]]:
    """Return a function that yields the files which match patterns, below the project's folder."""

    def seeds() -> Iterator[bytes]:
        for pattern in patterns:
            yield from (path.read_bytes() for path in sorted(ROOT.glob(pattern)))

    return seeds


def kept(name: str) -> Callable[[], Iterator[bytes]]:
    """Return a function that yields what the corpus holds of a target."""
    return files(f"fuzz/corpus/{name}/*")


TARGETS = {
    "text": Target(read_text, DIAGNOSED, files("test/lit/**/*.mlir", "fuzz/corpus/text/*")),
    "onnx": Target(read_onnx, DIAGNOSED, kept("onnx")),
    "edits": Target(read_edited, DIAGNOSED, kept("edits"), 64),
    "pipeline": Target(
        lambda data: parse_text(data.decode("utf-8", "replace")), DIAGNOSED, kept("pipeline"), 256
    ),
    "manifest": Target(manifest.from_json, (manifest.ManifestError,), kept("manifest")),
    "entry": Target(read_file(artifact.read), (artifact.ArtifactError,), kept("entry"), 16384),
    "plan": Target(
        lambda data: launch_plan.LaunchPlan.from_json(data.decode("utf-8", "replace")),
        (launch_plan.PlanError,),
        kept("plan"),
    ),
    "weights": Target(read_file(all_weights), DIAGNOSED, kept("weights")),
}
