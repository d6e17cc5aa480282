"""WebAssembly: one module that says itself what it is, and its weights beside it."""

from __future__ import annotations

from nn_opt.ahead_of_time.machine_code import lowered
from nn_opt.ahead_of_time.request import Made, Request, size_text
from nn_opt.backends.llvm.wasm import wasm_module


def module(request: Request) -> Made:
    """Return a module, whose section `nn-opt` describes it, and its weights."""
    code = lowered(request)
    made = wasm_module(code.text, code.manifest, code.machine)
    weights = code.weights.bytes.tobytes()
    files = {request.output.name: made, f"{request.stem}.weights": weights}
    arena = size_text(code.manifest.arena_bytes)
    said = f"code {size_text(len(made))}, weights {size_text(len(weights))}, arena {arena}"
    return Made(files, (said,))
