"""The web: WebAssembly modules, plain JavaScript, an ES module that chooses, the code of pages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import quote

from nn_opt.ahead_of_time import description
from nn_opt.ahead_of_time.machine_code import lowered as lowered_code
from nn_opt.ahead_of_time.request import COMPILER, Made, Request, size_text
from nn_opt.ahead_of_time.source_text import lowered
from nn_opt.backends.llvm.wasm import wasm_module
from nn_opt.backends.source import SourceProgram, print_js
from nn_opt.backends.source.program import plain
from nn_opt.build import Lowered
from nn_opt.ir.small_types import SMALL
from nn_opt.runtime.manifest import Manifest, TensorInfo

# How inputs and outputs lie in memory; halves and smaller numbers are bits there.
ARRAYS = {
    "float64": "Float64Array",
    "float32": "Float32Array",
    "float16": "Uint16Array",
    "bfloat16": "Uint16Array",
    "int64": "BigInt64Array",
    "int32": "Int32Array",
    "int16": "Int16Array",
    "int8": "Int8Array",
    "uint64": "BigUint64Array",
    "uint32": "Uint32Array",
    "uint16": "Uint16Array",
    "uint8": "Uint8Array",
    "bool": "Uint8Array",
    **dict.fromkeys(SMALL, "Uint8Array"),
}
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const)\b)", re.MULTILINE)
_NAMES = "inputs, outputs, arenaBytes, run"


@dataclass(frozen=True)
class Code:
    """A model for the web: code by engine, the best first, and the weights that each reads."""

    signature: Manifest
    codes: Mapping[str, bytes]
    weights: Mapping[str, bytes]
    arena_bytes: int

    @property
    def shares(self) -> bool:
        """Whether all engines read the same weights."""
        return len(set(self.weights.values())) == 1

    @property
    def weight_bytes(self) -> int:
        """The bytes of all weights that are kept."""
        return sum(map(len, set(self.weights.values())))


def code_of(request: Request) -> Code:
    """Return the model for each engine that is asked for."""
    signature = request.signature()
    codes: dict[str, bytes] = {}
    weights: dict[str, bytes] = {}
    arena = 0
    has_wasm = any(name.startswith("wasm") for name in request.targets)
    for name in request.targets:
        if name.startswith("wasm"):
            module, code = _wasm(request, name)
            codes[name], weights[name] = module, code.weights.bytes.tobytes()
            arena = code.manifest.arena_bytes
        else:
            program = javascript(request, "wasm" if has_wasm else name)
            codes["js"], weights["js"] = program.text.encode(), program.weights.content()
            arena = max(arena, program.arena_bytes)
    return Code(signature, codes, weights, arena)


def _wasm(request: Request, target: str) -> tuple[bytes, Lowered]:
    code = lowered_code(request, target)
    return wasm_module(code.text, code.manifest, code.machine), code


def javascript(request: Request, plan: str) -> SourceProgram:
    """Return the model as plain JavaScript, its loops laid out for a target."""
    module, _ = lowered(request, "lower-to-js", plan)
    return print_js(
        module, f"{request.title}, compiled by {COMPILER}", f"{request.output.name}.weights"
    )


def wasm(request: Request) -> Made:
    """Return a WebAssembly module, its weights and description."""
    module, code = _wasm(request, request.target)
    beside = f"{request.output.name}.weights"
    content = code.weights.bytes.tobytes()
    said = {
        "arena_bytes": code.manifest.arena_bytes,
        "weights": {"bytes": len(content), "file": beside},
        "module": request.output.name,
    }
    targets = [description.machine(code.machine, [])]
    text = description.description(request, code.manifest, targets, said)
    made = {
        request.output.name: module,
        beside: content,
        f"{request.output.name}.json": text.encode(),
    }
    sizes = f"code {size_text(len(module))}, weights {size_text(len(content))}"
    return Made(made, (f"{sizes}, arena {size_text(code.manifest.arena_bytes)}",))


def module(request: Request) -> Made:
    """Return an ES module that runs the model by the best engine that is there."""
    code = code_of(request)
    names = {engine: _file(request.output.name, engine) for engine in code.codes}
    plain_weights = f"{request.output.name}{'' if code.shares else '.plain'}.weights"
    weights = {e: plain_weights if e == "js" else f"{request.output.name}.weights" for e in names}
    text = _module_text(request, code, names, weights)
    made = {request.output.name: text.encode()}
    made |= {names[engine]: content for engine, content in code.codes.items()}
    made |= {weights[engine]: content for engine, content in code.weights.items()}
    said = {
        "arena_bytes": code.arena_bytes,
        "weights": {"bytes": code.weight_bytes, "files": weights},
        "module": request.output.name,
        "engines": names,
    }
    targets = [{"name": name} for name in names]
    described = description.description(request, code.signature, targets, said)
    made[f"{request.output.name}.json"] = described.encode()
    sizes = ", ".join(f"{engine} {size_text(len(made[names[engine]]))}" for engine in names)
    memory = f"weights {size_text(code.weight_bytes)}, arena {size_text(code.arena_bytes)}"
    return Made(made, (f"{sizes}; {memory}",))


def _file(module: str, engine: str) -> str:
    """Return a name that `-o net.wasm` does not write, too."""
    suffix = {"wasm": ".wasm", "wasm-relaxed": ".relaxed.wasm", "js": ".plain.mjs"}[engine]
    return f"{module}{suffix}"


def _module_text(
    request: Request, code: Code, names: Mapping[str, str], weights: Mapping[str, str]
) -> str:
    def links(table: Mapping[str, str]) -> str:
        return json.dumps({engine: f"./{quote(name)}" for engine, name in table.items()})

    return Template(f"{part_text('module.mjs')}\n").substitute(
        title=plain(f"{request.title}, compiled by {COMPILER}"),
        module=plain(request.output.name),
        inputs=json.dumps(tensors(code.signature.inputs)),
        outputs=json.dumps(tensors(code.signature.outputs)),
        files=links(names),
        weights=links(weights),
        engines=part_text("engines.js"),
    )


def tensors(infos: Sequence[TensorInfo]) -> list[dict[str, Any]]:
    """Return what JavaScript must know of inputs or outputs."""
    return [_tensor(info) for info in infos]


def _tensor(info: TensorInfo) -> dict[str, Any]:
    name = info.dtype.name
    return {"name": info.name, "dtype": name, "shape": list(info.sizes), "array": ARRAYS[name]}


def part_text(name: str) -> str:
    """Return a file of page/."""
    return (files("nn_opt.ahead_of_time") / "page" / name).read_text(encoding="utf-8").rstrip("\n")


def worker_program(module: bytes | None, said: Mapping[str, Any]) -> bytes:
    """Return plain JavaScript as part of a script, which pages from files may start as a worker.

    module: None for a model that has no code in plain JavaScript, only what is said of it.
    """
    if module is None:
        record = {key: said[key] for key in ("inputs", "outputs")}
        return f"const program = {json.dumps(record)};\n".encode()
    text = _EXPORT.sub("", module.decode()).replace("import.meta.url", "location.href")
    return f"const program = (() => {{\n{text}\nreturn {{{_NAMES}}};\n}})();\n".encode()
