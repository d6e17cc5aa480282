"""The passes that stay on a level, one file each; and all passes and pipelines by name.

`--fuse-ops` is `passes.FuseOps`, whichever folder it lives in; options are keyword arguments.

>>> from nn_opt import passes
>>> passes.FuseOps(max_depth=4)
FuseOpsPass(max_depth=4)
>>> passes.LowerToLoops()
Pipeline('lower-to-loops')
>>> passes.FuseOps(max_dept=4)
Traceback (most recent call last):
TypeError: FuseOps has no option 'max_dept'; did you mean max_depth?
"""

from importlib import import_module
from typing import Any

_NAMES = "nn_opt.pass_names"  # the table is above this layer, as the pipelines are


def __getattr__(name: str) -> Any:
    if not name[:1].isupper():
        raise AttributeError(f"module 'nn_opt.passes' has no attribute {name!r}")
    return import_module(_NAMES).named(name)


def __dir__() -> list[str]:
    return import_module(_NAMES).names()
