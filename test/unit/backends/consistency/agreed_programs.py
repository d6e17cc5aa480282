"""One small program for each operator and element type: what all backends must agree on."""

from __future__ import annotations

from collections.abc import Sequence

from agreed_elements import elements
from agreed_kernels import kernels
from agreed_narrow import narrow
from agreed_orders import orders
from agreed_values import Program
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue

from nn_opt.ir.resources import tensor_type_of


def programs() -> list[Program]:
    """Return all programs."""
    return [*elements(), *kernels(), *narrow(), *orders()]


def module_of(some: Sequence[Program]) -> ModuleOp:
    """Return one module whose @main runs programs side by side."""
    types = [tensor_type_of(array) for program in some for array in program.inputs]
    block = Block(arg_types=types)
    given, results = iter(block.args), list[SSAValue]()
    with ImplicitBuilder(block):
        for program in some:
            results.append(program.build(*(next(given) for _ in program.inputs)))
        func.ReturnOp(*results)
    kinds = [result.type for result in results]
    module = ModuleOp([func.FuncOp("main", (types, kinds), Region(block))])
    module.verify()
    return module
