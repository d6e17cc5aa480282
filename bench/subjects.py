"""What is measured: nn-opt and the peers that are installed, each behind one kind of call."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from bench.feeds import Array, Feeds

Run = Callable[[Feeds], list[Array]]  # outputs in the model's order
Load = Callable[[Path, int], Run]

OURS = "nn-opt"
REFERENCE = "onnxruntime"  # whose outputs the others are compared with


def load_nn_opt(path: Path, threads: int) -> Run:
    """Compile with nn-opt, or take the model from its cache."""
    import nn_opt

    model = nn_opt.compile(path, threads=threads)
    return lambda feeds: list(model.run(feeds).values())


def load_onnxruntime(path: Path, threads: int) -> Run:
    """Open with onnxruntime, all its graph optimisations on."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def load_openvino(path: Path, threads: int, precision: str = "f32") -> Run:
    """Compile with OpenVINO in float32: left alone, it computes in bfloat16 where it can."""
    import openvino

    settings = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = openvino.Core().compile_model(str(path), "CPU", settings)
    request = compiled.create_infer_request()

    def run(feeds: Feeds) -> list[Array]:
        results = request.infer(feeds)
        return [results[output] for output in compiled.outputs]

    return run


LOADS: dict[str, Load] = {
    OURS: load_nn_opt,
    "onnxruntime": load_onnxruntime,
    "openvino": load_openvino,
}
MODULES = {OURS: "nn_opt", "onnxruntime": "onnxruntime", "openvino": "openvino"}

TORCH = ("torch", "numpy", "onnx", "protobuf", "sympy", "mpmath", "networkx", "jinja2", "fsspec")
# What an installation needs to run a model, as distributions.
DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    OURS: (
        *("nn-opt", "xdsl", "llvmlite", "numpy", "onnx", "protobuf", "ml_dtypes", "safetensors"),
        *("rich", "pygments", "markdown-it-py", "platformdirs", "immutabledict"),
    ),
    "onnxruntime": ("onnxruntime", "numpy", "protobuf", "flatbuffers"),
    "openvino": ("openvino", "openvino-telemetry", "numpy"),
    "inductor": TORCH,
    "torch eager": TORCH,
    "iree": ("iree-base-compiler", "iree-base-runtime", "numpy", "onnx", "protobuf"),
    "tvm": ("apache-tvm", "apache-tvm-ffi", "numpy", "onnx", "protobuf", "ml_dtypes", "psutil"),
    "tinygrad": ("tinygrad", "numpy"),
}


def installed() -> list[str]:
    """Return the names of what can be measured here, nn-opt first."""
    return [name for name, module in MODULES.items() if find_spec(module) is not None]
