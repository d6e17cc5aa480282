"""One HTML page that runs a model on what its user gives it, and asks for nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from nn_opt.ahead_of_time.request import COMPILER, Made, Request, size_text
from nn_opt.ahead_of_time.web import Code, code_of, part_text, tensors, worker_program
from nn_opt.driver.models import fail
from nn_opt.ir.files import read_text
from nn_opt.ir.small_types import SMALL
from nn_opt.runtime.manifest import Manifest

_BITS = ("float16", "bfloat16", *SMALL)  # are numbers nowhere in JavaScript
_SMALLEST_IMAGE = 8  # pixels
# Of the colours of ImageNet's pictures, from 0 to 1: what networks for images are mostly fed.
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
_SCRIPTS = "script-src {script} 'wasm-unsafe-eval' blob:; worker-src blob:"
_POLICY = f"default-src 'none'; {_SCRIPTS}; style-src {{style}}; img-src blob: data:"


def page(request: Request) -> Made:
    """Return a page with the model inside."""
    said = model_record(request, request.signature())
    code = code_of(request)
    text = page_text(request.title, _about(code), said, _parts(code, said))
    what = "drag an image on it" if said["image"] else "it takes numbers"
    return Made({request.output.name: text.encode()}, (f"{size_text(len(text))}; {what}",))


def _parts(code: Code, said: Mapping[str, Any]) -> dict[str, bytes]:
    """Return what the worker reads: code for each engine, and weights once if they are shared."""
    parts = {"program.js": worker_program(code.codes.get("js"), said)}
    for engine, content in code.codes.items():
        if engine != "js":
            parts |= {engine: content, "weights.wasm": code.weights[engine]}
    if "js" in code.codes and not (code.shares and "weights.wasm" in parts):
        parts["weights.js"] = code.weights["js"]
    return parts


def model_record(request: Request, signature: Manifest) -> dict[str, Any]:
    """Return what the page must know of the model.

    Raises: DiagnosticError for options that do not fit it.
    """
    for info in (*signature.inputs, *signature.outputs):
        if info.dtype.name in _BITS:
            fail(f"error: {info}: a page has no arrays of {info.dtype.name}")
    image = _image(signature)
    options = request.options
    for word in ("mean", "std"):
        if image is not None:
            image[word] = _colours(word, getattr(options, word), image["channels"])
        elif getattr(options, word):
            fail(f"error: --{word} is for images, and no input of {request.title} is one")
    classes = _classes(signature)
    return {
        "inputs": tensors(signature.inputs),
        "outputs": tensors(signature.outputs),
        "image": image,
        "classes": classes,
        "labels": _labels(request, signature, classes),
    }


def _image(signature: Manifest) -> dict[str, Any] | None:
    """Return what pixels of an image the only input takes, if it looks like one."""
    if len(signature.inputs) != 1 or len(signature.inputs[0].sizes) != 4:
        return None
    (info,) = signature.inputs
    batch, *sizes = info.sizes
    for planar, (channels, height, width) in ((True, sizes), (False, [sizes[2], *sizes[:2]])):
        large = min(height, width) >= _SMALLEST_IMAGE
        if batch == 1 and channels in (1, 3) and large and info.dtype.kind in "fu":
            return {"channels": channels, "height": height, "width": width, "planar": planar}
    return None


def _classes(signature: Manifest) -> int | None:
    """Return which output has a score for each class, if the first does."""
    sizes = [size for size in signature.outputs[0].sizes if size != 1]
    is_float = signature.outputs[0].dtype.name in ("float32", "float64")
    return 0 if len(sizes) == 1 and is_float and _image(signature) else None


def _labels(request: Request, signature: Manifest, classes: int | None) -> list[str]:
    file = request.options.labels
    if not file:
        return []
    if classes is None:
        fail(f"error: --labels is for images that are classified; {request.title} does not do so")
    labels = read_text(file).splitlines()
    count = max(signature.outputs[classes].sizes)
    if len(labels) != count:
        fail(f"{file}: error: there are {len(labels)} labels, one a line, of {count} classes")
    return labels


def _colours(word: str, text: str | None, channels: int) -> Sequence[float]:
    if not text:
        usual = IMAGENET[word]
        return usual if channels == 3 else [{"mean": 0.0, "std": 1.0}[word]]
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != channels or (word == "std" and 0 in numbers):
        fail(f"error: --{word} is {text!r}, expected {channels} numbers with commas")
    return numbers


def _about(code: Code) -> str:
    given, made = (", ".join(map(str, t)) for t in (code.signature.inputs, code.signature.outputs))
    return f"{given} → {made}. {size_text(code.weight_bytes)} of weights."


def page_text(title: str, about: str, record: Mapping[str, Any], parts: Mapping[str, bytes]) -> str:
    """Return the page; nothing of the model's can become markup."""
    style, script = part_text("page.css"), part_text("page.js")
    policy = _POLICY.format(script=_digest(script), style=_digest(style))
    model = json.dumps(record, separators=(",", ":")).replace("<", "\\u003c")
    return Template(part_text("page.html")).substitute(
        title=html.escape(title),
        about=html.escape(about),
        compiler=COMPILER,
        policy=policy,
        style=style,
        script=script,
        worker=f"{part_text('engines.js')}\n{part_text('worker.js')}",
        model=model,
        parts="\n".join(_part(name, content) for name, content in parts.items()),
    )


def _part(name: str, content: bytes) -> str:
    packed = base64.b64encode(zlib.compress(content, 6)).decode()
    return f'<script type="text/plain" data-part="{name}">{packed}</script>'


def _digest(text: str) -> str:
    """Return what a Content-Security-Policy calls a style or script that has this text."""
    digest = hashlib.sha256(f"\n{text}\n".encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
