"""Other compilers, each behind the kind of call that `bench/subjects.py` has; all in float32.

Each loader is run in a process of its own: some of these packages cannot live side by side.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.feeds import Array, Feeds
from bench.subjects import Load, Run

# Of the sets tried, within 1 % of the fastest on SqueezeNet (12.2 ms; 109 to 121 without im2col).
# On BERT-tiny the sets without im2col differed by 14 %; this one was not tried against them there.
IREE_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O3",
    "--iree-global-opt-use-im2col-for-convs",
    "--iree-opt-data-tiling",
    "--iree-llvmcpu-enable-ukernels=all",
)


def load_eager(path: Path, threads: int) -> Run:
    """PyTorch op by op."""
    return _torch(path, threads, lambda model: model)


def load_inductor(path: Path, threads: int) -> Run:
    """PyTorch's compiler, weights frozen."""
    import torch
    import torch._inductor.config as settings

    settings.freezing = True
    settings.cpp.threads = threads
    return _torch(path, threads, torch.compile)


def _torch(path: Path, threads: int, prepare: Callable[[Any], Any]) -> Run:
    import torch

    from bench.torch_model import TorchModel

    torch.set_num_threads(threads)
    model = TorchModel(path).eval()
    names = model.feeds
    prepared = prepare(model)

    def run(feeds: Feeds) -> list[Array]:
        with torch.no_grad():
            results = prepared(*(torch.from_numpy(feeds[name]) for name in names))
        return [result.numpy() for result in results]

    return run


def load_tvm(path: Path, threads: int) -> Run:
    """TVM's default pipeline for this processor; without its search, which takes hours."""
    os.environ["TVM_NUM_THREADS"] = str(threads)
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    names = _input_names(path)
    target = tvm.target.Target({"kind": "llvm", "mcpu": _processor()})
    module = from_onnx(onnx.load(path), keep_params_in_input=False)
    with target:
        built = relax.build(module, target)
    machine = relax.VirtualMachine(built, tvm.cpu())

    def run(feeds: Feeds) -> list[Array]:
        results = machine["main"](*(tvm.runtime.tensor(feeds[name]) for name in names))
        many = [results] if hasattr(results, "numpy") else list(results)
        return [result.numpy() for result in many]

    return run


def load_iree(path: Path, threads: int) -> Run:
    """IREE for this processor, data tiling and hand-written kernels on."""
    import iree.runtime as runtime

    code = _iree_code(path)
    driver = "local-sync" if threads == 1 else "local-task"
    config = runtime.Config(driver)
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, code), config)
    names = _input_names(path)
    entry = next(
        name for name in module.vm_module.function_names if "$" not in name and name[0] != "_"
    )
    function = module[entry]

    def run(feeds: Feeds) -> list[Array]:
        results = function(*(feeds[name] for name in names))
        many = results if isinstance(results, list | tuple) else [results]
        return [np.asarray(result) for result in many]

    return run


def _iree_code(path: Path) -> bytes:
    folder = Path(sys.executable).parent
    text, code = path.with_suffix(".mlir"), path.with_suffix(".vmfb")
    importing = [folder / "iree-import-onnx", path, "--opset-version", "17", "-o", text]
    compiling = [folder / "iree-compile", *IREE_FLAGS, text, "-o", code]
    for command in (importing, compiling):
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        if done.returncode:
            rows = [row for row in done.stderr.splitlines() if "error:" in row]
            raise RuntimeError((rows or [f"{command[0].name} failed"])[0][-120:])
    return code.read_bytes()


def load_tinygrad(path: Path, threads: int) -> Run:
    """tinygrad's processor backend with LLVM, its calls recorded once and replayed."""
    os.environ |= {"DEV": "CPU:LLVM", "THREADS": str(int(threads > 1))}
    from tinygrad import Tensor, TinyJit
    from tinygrad.nn.onnx import OnnxRunner

    model = OnnxRunner(path)
    names = _input_names(path)

    @TinyJit
    def step(**tensors: Any) -> Any:
        return [result.realize() for result in model(tensors).values()]

    def run(feeds: Feeds) -> list[Array]:
        tensors = {name: Tensor(feeds[name]).realize() for name in names}
        return [result.numpy() for result in step(**tensors)]

    return run


def _input_names(path: Path) -> list[str]:
    """Return the names of a model's inputs, in order; weights are none."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in weights]


def _processor() -> str:
    from llvmlite import binding

    return binding.get_host_cpu_name()


PEERS: dict[str, Load] = {
    "inductor": load_inductor,
    "torch eager": load_eager,
    "iree": load_iree,
    "tvm": load_tvm,
    "tinygrad": load_tinygrad,
}
MODULES = {
    "inductor": "torch",
    "torch eager": "torch",
    "iree": "iree.compiler",
    "tvm": "tvm",
    "tinygrad": "tinygrad",
}
