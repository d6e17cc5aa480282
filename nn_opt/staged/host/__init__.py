"""Operators that run on the host; importing this fills the table `HOST_OPS`."""

from nn_opt.staged.host import (
    control,
    images,
    maps,
    optionals,
    places,
    sequences,
    strings,
    text,
)
from nn_opt.staged.host.table import HOST_OPS as HOST_OPS

__all__ = [
    "HOST_OPS",
    "control",
    "images",
    "maps",
    "optionals",
    "places",
    "sequences",
    "strings",
    "text",
]
