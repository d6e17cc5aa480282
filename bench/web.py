"""WebAssembly and JavaScript against onnxruntime-web and TensorFlow.js, in turns, in one thread.

    python -m bench.web                     # a table
    python -m bench.web --json docs/bench-web.json

The peers are installed by npm into build/bench-web. All run in one process of node; a call's time
is that of its core, the median of all turns.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

from bench.models import build
from nn_opt.engines import build_for
from nn_opt.frontends.onnx import import_model
from nn_opt.runtime.node import find_node

ROOT = Path(__file__).resolve().parent
PEERS = ROOT.parent / "build" / "bench-web"
PACKAGES = (
    "onnxruntime-web@1.30.0",
    "@tensorflow/tfjs@4.22.0",
    "@tensorflow/tfjs-backend-wasm@4.22.0",
)
FLAG = "--experimental-wasm-relaxed-simd"  # versions of node before 22 want it said
OURS = {"nn-opt wasm": "wasm", "nn-opt wasm-relaxed": "wasm-relaxed", "nn-opt js": "js"}
GFLOP = {"matmul 512": 2 * 512**3 / 1e9}
Times = Mapping[str, Mapping[str, Sequence[float]]]
Subject = dict[str, Any]


def install() -> None:
    """Install the peers, unless they are there.

    Raises: CalledProcessError if npm fails.
    """
    if all((PEERS / "node_modules" / name.rpartition("@")[0]).is_dir() for name in PACKAGES):
        return
    PEERS.mkdir(parents=True, exist_ok=True)
    (PEERS / "package.json").write_text('{"private": true}\n', encoding="ascii")
    flags = ["--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(["npm", "install", *flags, *PACKAGES], cwd=PEERS, check=True)


def matmul(size: int = 512) -> onnx.ModelProto:
    """Return the product of two square matrices that are inputs."""
    names = ("a", "b", "c")
    a, b, c = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [size, size]) for n in names)
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["c"])], "mm", [a, b], [c])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ours(model: onnx.ModelProto, stem: str) -> list[Subject]:
    """Compile a model for all of our engines; return how each is run, and its size."""
    made: list[Subject] = []
    for name, target in OURS.items():
        engine = "js" if target == "js" else "wasm"
        artifact = build_for(engine, import_model(model), target, "")
        file = PEERS / f"{stem}.{target}.{'mjs' if engine == 'js' else 'wasm'}"
        weights = PEERS / f"{stem}.{target}.weights"
        file.write_bytes(artifact.code)
        weights.write_bytes(artifact.weights.bytes.tobytes())
        kind = "javascript" if engine == "js" else "wasm"
        record = {"name": name, "kind": kind, "file": str(file), "weights": str(weights)}
        made.append({**record, "bytes": len(artifact.code)})
    return made


def peers(model: onnx.ModelProto, stem: str, backends: Mapping[str, str]) -> list[Subject]:
    """Return how the peers run a model; `backends` are those of TensorFlow.js, by their names."""
    file, program = PEERS / f"{stem}.onnx", PEERS / f"{stem}.json"
    onnx.save(model, file)
    made: list[Subject] = [{"name": "onnxruntime-web", "kind": "onnxruntime", "file": str(file)}]
    network = "" if stem == "matmul" else str(program)
    if backends and network:
        program.write_text(json.dumps(layers_of(model)), encoding="ascii")
    for name, backend in backends.items():
        made.append({"name": name, "kind": "tensorflow", "backend": backend, "program": network})
    return [{**subject, "peers": str(PEERS)} for subject in made]


def layers_of(model: onnx.ModelProto) -> dict[str, Any]:
    """Return a network of convolutions as a list of layers, batch norms taken into them."""
    graph = model.graph
    shapes = {w.name: list(numpy_helper.to_array(w).shape) for w in graph.initializer}
    numbers = {graph.input[0].name: 0}
    layers: list[dict[str, Any]] = []
    for node in graph.node:
        here = numbers.get(node.input[0], 0)
        if node.op_type in ("BatchNormalization", "Clip", "Relu", "Flatten", "Reshape"):
            if node.op_type in ("Clip", "Relu"):
                layers[here - 1]["activation"] = "relu6" if node.op_type == "Clip" else "relu"
            numbers[node.output[0]] = here
            continue
        sources = [numbers[name] for name in node.input if name in numbers]
        layers.append(_layer(node, shapes) | {"from": sources})
        numbers[node.output[0]] = len(layers)
    dims = graph.input[0].type.tensor_type.shape.dim
    return {"image": [dim.dim_value for dim in dims], "layers": layers}


def _layer(node: onnx.NodeProto, shapes: Mapping[str, list[int]]) -> dict[str, Any]:
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "Conv":
        filters, channels, high, wide = shapes[node.input[1]]
        alone = attributes.get("group", 1) > 1
        shape = [high, wide, filters, 1] if alone else [high, wide, channels, filters]
        kind = "depthwise" if alone else "conv"
        stride = attributes.get("strides", [1, 1])[0]
        return {"kind": kind, "shape": shape, "filters": filters, "stride": stride}
    if node.op_type == "Gemm":
        columns, rows = shapes[node.input[1]]
        if not attributes.get("transB"):
            columns, rows = rows, columns
        return {"kind": "dense", "shape": [rows, columns], "filters": columns}
    return {"kind": {"Add": "add", "MatMul": "dense"}.get(node.op_type, "pool")}


def tasks(quick: bool = False) -> list[dict[str, Any]]:
    """Compile all there is to time; return what `turns.mjs` reads."""
    both = {"tfjs wasm": "wasm", "tfjs cpu": "cpu"}
    rows = [
        ("matmul 512", "matmul", matmul(), 3, both),
        ("mobilenet_v2", "mobilenet_v2", build("mobilenet_v2"), 2, both),
        ("resnet18", "resnet18", build("resnet18"), 1, {}),
        ("bert_tiny", "bert_tiny", build("bert_tiny"), 5, {}),
    ]
    return [
        {
            "name": name,
            "turns": 2 if quick else 7,
            "calls": calls,
            "subjects": [*ours(model, stem), *peers(model, stem, backends)],
        }
        for name, stem, model, calls, backends in rows
    ]


def run(listed: Sequence[Mapping[str, Any]]) -> Times:
    """Return the milliseconds of every call, by task and subject.

    Raises: CalledProcessError if node fails.
    """
    file = PEERS / "tasks.json"
    file.write_text(json.dumps({"tasks": listed}), encoding="ascii")
    node = find_node()
    asked = subprocess.run([node, FLAG, "-e", ""], capture_output=True, check=False)
    command = [
        node,
        *([FLAG] if asked.returncode == 0 else []),
        str(ROOT / "web" / "turns.mjs"),
        str(file),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def record_of(times: Times, listed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return medians, and the bytes of our code."""
    sizes = {
        task["name"]: {s["name"]: s["bytes"] for s in task["subjects"] if "bytes" in s}
        for task in listed
    }
    medians = {
        task: {name: round(statistics.median(calls), 3) for name, calls in subjects.items()}
        for task, subjects in times.items()
    }
    node = subprocess.run([find_node(), "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return {
        "node": node.stdout.strip(),
        "machine": platform.machine(),
        "peers": list(PACKAGES),
        "milliseconds": medians,
        "code_bytes": sizes,
    }


def print_table(record: Mapping[str, Any]) -> None:
    """Print each task's times, and how many times longer than ours each takes."""
    for task, medians in record["milliseconds"].items():
        table = Table("", "ms", "GFLOP/s", "x nn-opt wasm", title=task, title_justify="left")
        for name, value in sorted(medians.items(), key=lambda item: item[1]):
            speed = f"{GFLOP[task] / value * 1e3:.1f}" if task in GFLOP else ""
            ratio = value / medians["nn-opt wasm"]
            table.add_row(name, f"{value:.2f}", speed, f"{ratio:.2f}")
        Console().print(table)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.web", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--quick", action="store_true", help="two turns only")
    options = parser.parse_args(argv)
    install()
    listed = tasks(options.quick)
    record = record_of(run(listed), listed)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="ascii")
    print_table(record)


if __name__ == "__main__":
    main()
