"""What xDSL's tools get from nn-opt where it is installed: `xdsl-opt -p fuse-ops in.mlir`.

A name that xDSL has already would make all of its tools fail, so that `tensor` and `llvm`, and
passes such as `cse`, stay ours alone. Nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from nn_opt.ir.parsing import DIALECTS, make_context
from nn_opt.registry import PASSES, SOURCES, load_pass


def _dialects() -> dict[str, Callable[[], Dialect]]:
    theirs = get_all_dialects()
    return {name: partial(_dialect, name) for name in DIALECTS if name not in theirs}


def _dialect(name: str) -> Dialect:
    return make_context().get_dialect(name)


def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    taken = {*get_all_passes(), *SOURCES}
    return {name: partial(load_pass, name) for name in PASSES if name not in taken}


UNIVERSE = Universe(all_dialects=_dialects(), all_passes=_passes())
