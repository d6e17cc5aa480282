"""What a program that loads a model must know of it, as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from nn_opt.ahead_of_time.request import COMPILER, Request
from nn_opt.ir.target import Target
from nn_opt.runtime.manifest import Manifest, TensorInfo

_SHORT = re.compile(r"\[[^][{}]*\]")  # a list without lists or objects
FORMAT = 1  # raise when the meaning of a field changes


def description(
    request: Request,
    manifest: Manifest,
    targets: Sequence[Mapping[str, Any]],
    more: Mapping[str, Any],
) -> str:
    """Return the text: inputs, outputs, targets, and what is only said of a kind of files."""
    record = {
        "format": FORMAT,
        "compiler": COMPILER,
        "model": request.title,
        "name": request.name,
        "inputs": [tensor(info) for info in manifest.inputs],
        "outputs": [tensor(info) for info in manifest.outputs],
        "targets": list(targets),
        **more,
    }
    text = json.dumps(record, indent=2)
    return _SHORT.sub(lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n"


def tensor(info: TensorInfo) -> dict[str, Any]:
    """Return what is said of an input or output."""
    return {
        "name": info.name,
        "dtype": info.dtype.name,
        "shape": list(info.sizes),
        "bytes": bytes_of(info),
    }


def bytes_of(info: TensorInfo) -> int:
    """Return the size of an input or output."""
    return prod(info.sizes) * info.dtype.itemsize


def machine(target: Target, features: Sequence[str]) -> dict[str, Any]:
    """Return what is said of a processor that there is code for."""
    return {
        "name": target.name,
        "triple": target.triple,
        "cpu": target.cpu,
        "features": list(features),
    }
