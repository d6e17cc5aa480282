"""The kernels that a module's launches name, and what the device allows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from nn_opt.dialects import gpu
from nn_opt.ir.target import Gpu

MODULE = "kernels"


@dataclass
class Kernels:
    """The gpu.funcs made so far, and the names that are taken."""

    limits: Gpu
    taken: set[str] = field(default_factory=set[str])
    functions: list[gpu.FuncOp] = field(default_factory=list[gpu.FuncOp])
    name: str = MODULE

    def name_for(self, function: str, first: bool) -> str:
        """Return the function's own name for its first kernel, then `name_1`, and so on."""
        if first:
            return function
        number = 1
        while f"{function}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{function}_{number}")
        return f"{function}_{number}"

    def module(self) -> gpu.ModuleOp:
        """Return the module of all kernels."""
        module = gpu.ModuleOp(self.name, limits=self.limits)
        module.body.block.add_ops(self.functions)
        return module
