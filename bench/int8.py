"""Times and accuracy of models quantised to 8 bits, against onnxruntime and OpenVINO.

    python -m bench.int8 FOLDER [NAME ...] [--seconds S] [--seeds N]

Each model of bench.models is quantised by onnxruntime, weights by channels: `u8s8` into QDQ form
with unsigned activations, `s8s8` with signed ones; `dynamic` lets the model find the ranges of
activations itself, each time it runs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from bench.models import build, build_small, sample_inputs
from bench.subjects import LOADS, OURS, REFERENCE, installed
from bench.timing import pin, take_turns

Array = NDArray[Any]
Feeds = dict[str, Array]
NAMES = ("resnet18", "resnet50", "mobilenet_v1", "bert_mini")
FLOAT = "onnxruntime f32"
CALIBRATION = 8  # samples from which the ranges of activations are taken


@dataclass(frozen=True)
class Form:
    """How the quantiser writes a model."""

    signed: bool = False
    dynamic: bool = False


FORMS: Mapping[str, Form] = {
    "u8s8": Form(),
    "s8s8": Form(signed=True),
    "dynamic": Form(dynamic=True),
}


class Samples:
    """Gives a quantiser inputs, one after the other, as it asks for them."""

    def __init__(self, proto: onnx.ModelProto, count: int):
        self._samples: Iterator[Feeds] = (sample_inputs(proto, 100 + k) for k in range(count))

    def get_next(self) -> Feeds | None:
        return next(self._samples, None)


def quantize(
    proto: onnx.ModelProto, path: Path, form: Form, calibration: int = CALIBRATION
) -> Path:
    """Write a model in QDQ form, quantised by onnxruntime."""
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference

    tools: Any = quantization  # whose types are written in part only
    prepare: Any = shape_inference

    with tempfile.TemporaryDirectory() as folder:
        plain, prepared = Path(folder) / "plain.onnx", Path(folder) / "prepared.onnx"
        plain.write_bytes(proto.SerializeToString())
        prepare.quant_pre_process(str(plain), str(prepared), skip_symbolic_shape=True)
        if form.dynamic:
            tools.quantize_dynamic(prepared, path, per_channel=True)
            return path
        tools.quantize_static(
            str(prepared),
            str(path),
            Samples(proto, calibration),
            quant_format=tools.QuantFormat.QDQ,
            per_channel=True,
            activation_type=tools.QuantType.QInt8 if form.signed else tools.QuantType.QUInt8,
            weight_type=tools.QuantType.QInt8,
        )
    return path


def model_named(name: str) -> onnx.ModelProto:
    """Return a model of bench.models; `_small` for its small variant."""
    small = name.removesuffix("_small")
    return build(name) if small == name else build_small(small)


@dataclass(frozen=True)
class Accuracy:
    """How far results are from those in float32, over some inputs."""

    relative: float  # error's norm over the result's
    agreement: float  # part of the rows with the same largest element

    @classmethod
    def of(cls, got: list[Array], wanted: list[Array]) -> Accuracy:
        error = sum(float(np.square(g - w).sum()) for g, w in zip(got, wanted, strict=True))
        size = sum(float(np.square(w).sum()) for w in wanted)
        same = [g.argmax(-1) == w.argmax(-1) for g, w in zip(got, wanted, strict=True)]
        return cls((error / size) ** 0.5, float(np.concatenate([s.ravel() for s in same]).mean()))


def measure(name: str, form: str, folder: Path, seconds: float, seeds: int) -> None:
    """Quantise a model if that was not done yet, and print a line for each subject."""
    proto = model_named(name)
    folder.mkdir(parents=True, exist_ok=True)
    path, plain = folder / f"{name}_{form}.onnx", folder / f"{name}.onnx"
    if not path.exists():
        quantize(proto, path, FORMS[form])
    plain.write_bytes(proto.SerializeToString())
    runs = {subject: LOADS[subject](path, 1) for subject in installed()}
    runs[FLOAT] = LOADS[REFERENCE](plain, 1)
    feeds = [sample_inputs(proto, seed) for seed in range(seeds)]
    wanted = [runs[FLOAT](feed)[0] for feed in feeds]
    times = take_turns({s: lambda run=run: run(feeds[0]) for s, run in runs.items()}, seconds)
    ours = times.medians[OURS]
    for subject, run in runs.items():
        accuracy = Accuracy.of([run(feed)[0] for feed in feeds], wanted)
        took = times.medians[subject]
        print(
            f"{name:14} {form:9} {subject:16} {took:8.3f} ms {took / ours:6.2f}"
            f"   error {accuracy.relative:.2e}   agreement {accuracy.agreement:6.1%}"
        )
    print(f"{'':14} {'':9} cpu share {times.cpu_share:.3f}, {times.rounds} rounds", flush=True)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.int8")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--forms", default="u8s8", help=f"with commas, of {', '.join(FORMS)}")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    pin(1)
    for name in options.names:
        for form in options.forms.split(","):
            measure(name, form, options.folder, options.seconds, options.seeds)


if __name__ == "__main__":
    main()
