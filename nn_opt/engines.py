"""Models that an engine runs: WebAssembly, JavaScript, GPUs. With a warm cache, only that loads.

The engines are loaded when a program is: what they need, and whether it is here, is theirs to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.loader import RuntimeFault
from nn_opt.runtime.weights import Pack, pack_weights

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from nn_opt.runtime.program import Program

WASM, JAVASCRIPT = "wasm", "js"
GPUS = ("opencl", "cuda", "metal", "webgpu")  # targets whose kernels a device runs
_PROGRAMS = {
    WASM: "nn_opt.runtime.wasm:WasmProgram",
    JAVASCRIPT: "nn_opt.runtime.node:NodeProgram",
    **dict.fromkeys(GPUS, "nn_opt.runtime.gpu_program:GpuProgram"),
}
Progress = Callable[[str, int, int], None]


def engine_of(target: str) -> str:
    """Return what runs the code of a target: an engine, or "" for this machine's processor."""
    if target in (WASM, "wasm-relaxed") or "-mtriple=wasm" in target:
        return WASM
    return target if target == JAVASCRIPT or target in GPUS else ""


def program_of(engine: str, artifact: Artifact) -> Program:
    """Return an artifact as a program of an engine.

    Raises: RuntimeFault if the engine is not here, or refuses the code.
    """
    module, name = _PROGRAMS[engine].split(":")
    return getattr(import_module(module), name)(artifact)


def refuse_profile(engine: str) -> None:
    """Raise RuntimeFault: clocks are read by machine code."""
    raise RuntimeFault(
        f"error: kernels in {engine} have no clock to be timed by"
        "\n  hint: profile the model for target 'cpu', or time whole calls"
    )


def build_for(
    engine: str,
    module: ModuleOp,
    target: str,
    options: str,
    *,
    pack: Pack = pack_weights,
    **settings: Any,
) -> Artifact:
    """Compile a module, which is consumed, for an engine; `settings` are those of `build.lower`.

    Raises: VerifyException, PassFailedException or DiagnosticError for what cannot be compiled.
    """
    if engine == WASM:
        return _wasm(module, target, options, pack, settings)
    if engine in GPUS:
        return _kernels(module, target, options, pack, settings)
    return _javascript(module, target, options, pack, settings)


def _wasm(
    module: ModuleOp, target: str, options: str, pack: Pack, settings: dict[str, Any]
) -> Artifact:
    from nn_opt.backends.llvm.wasm import wasm_module
    from nn_opt.build import lower

    lowered = lower(module, target, options, **settings)
    code = wasm_module(lowered.text, lowered.manifest, lowered.machine)
    weights = pack(lowered.arrays, lowered.offsets, lowered.manifest.weight_bytes)
    return Artifact(replace(lowered.manifest, object_sizes=(len(code),)), code, weights)


def _javascript(
    module: ModuleOp, target: str, options: str, pack: Pack, settings: dict[str, Any]
) -> Artifact:
    import numpy as np

    from nn_opt.backends.source import print_js
    from nn_opt.build import lower_to_source

    manifest = lower_to_source(module, target, options, "lower-to-js", **settings)
    program = print_js(module)
    code = program.text.encode()
    content = program.weights.content()
    weights = pack([np.frombuffer(content, np.uint8)], [0], len(content))
    sizes = {"arena_bytes": program.arena_bytes, "weight_bytes": len(content)}
    return Artifact(replace(manifest, object_sizes=(len(code),), **sizes), code, weights)


def _kernels(
    module: ModuleOp, target: str, options: str, pack: Pack, settings: dict[str, Any]
) -> Artifact:
    """The code is the kernels' text, then the plan of the launches."""
    from nn_opt.backends.source.gpu_languages import language_of
    from nn_opt.backends.source.gpu_program import print_kernels
    from nn_opt.backends.source.launch_plan import plan_launches
    from nn_opt.build import lower_to_source, signature_of

    manifest = lower_to_source(module, target, options, "lower-to-gpu", **settings)
    source = print_kernels(module, language_of(module))
    plan, weights = plan_launches(module, source, signature_of(module))
    parts = [source.text.encode(), plan.to_json().encode()]
    block = pack(weights.arrays, weights.offsets, weights.size)
    sizes: dict[str, Any] = {
        "arena_bytes": sum(buffer.size for buffer in plan.with_role("arena")),
        "weight_bytes": weights.size,
        "object_sizes": tuple(map(len, parts)),
        "launches": plan.launches,
    }
    return Artifact(replace(manifest, **sizes), b"".join(parts), block)
