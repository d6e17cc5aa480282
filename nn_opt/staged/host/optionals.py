"""Optionals: what they hold, or None."""

from __future__ import annotations

from typing import Any

import numpy as np

from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.signature import OPTIONAL, kind_of_type
from nn_opt.staged.host.table import (
    Array,
    Call,
    HostFault,
    Kinds,
    host,
    same,
    tensor,
)


def _optional_of(attrs: Attributes, kinds: Kinds) -> str:
    if kinds:
        return OPTIONAL + kinds[0]
    declared = attrs.type("type")
    return OPTIONAL + (same(attrs, kinds) if declared is None else kind_of_type(declared))


def _held(attrs: Attributes, kinds: Kinds) -> str:
    return same(attrs, kinds).removeprefix(OPTIONAL)


@host("Optional", kind=_optional_of)
def optional(call: Call) -> Any:
    return call.get(0)


@host("OptionalHasElement", kind=tensor)
def optional_has_element(call: Call) -> Array:
    return np.asarray(call.get(0) is not None)


@host("OptionalGetElement", kind=_held)
def optional_get_element(call: Call) -> Any:
    value = call.get(0)
    if value is None:
        raise HostFault("the optional is empty")
    return value
