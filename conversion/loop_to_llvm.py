"""loop -> llvm: control flow, addresses and registers; the last level before LLVM itself."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from nn_opt.conversion.to_llvm import arithmetic, dots, halves, libm, quotients, roundings, vectors
from nn_opt.conversion.to_llvm.accesses import lower_load, lower_store
from nn_opt.conversion.to_llvm.buffers import (
    lower_alloc,
    lower_constant,
    lower_copy,
    lower_view,
)
from nn_opt.conversion.to_llvm.code import Rule
from nn_opt.conversion.to_llvm.functions import (
    EXTERNAL,
    describe,
    lower_call,
    lower_kernel,
    lower_main,
    lower_return,
)
from nn_opt.conversion.to_llvm.gathers import lower_gather
from nn_opt.conversion.to_llvm.loops import lower_apply, lower_for, lower_if
from nn_opt.conversion.to_llvm.signatures import require_buffers
from nn_opt.conversion.to_llvm.unit import Unit
from nn_opt.dialects import loop
from nn_opt.ir.legality import require_absent, require_one_block
from nn_opt.ir.locations import located
from nn_opt.ir.sidecar import let_go
from nn_opt.ir.target import target_of

RULES: dict[type[Operation], Rule] = {
    **arithmetic.RULES,
    **dots.RULES,
    **halves.RULES,
    **libm.RULES,
    **quotients.RULES,
    **roundings.RULES,
    **vectors.RULES,
    loop.ForOp: lower_for,
    loop.IfOp: lower_if,
    loop.ApplyOp: lower_apply,
    loop.LoadOp: lower_load,
    loop.StoreOp: lower_store,
    loop.GatherOp: lower_gather,
    loop.AllocOp: lower_alloc,
    loop.ConstantOp: lower_constant,
    loop.ViewOp: lower_view,
    loop.CopyOp: lower_copy,
    func.CallOp: lower_call,
    func.ReturnOp: lower_return,
}


@dataclass(frozen=True)
class ConvertLoopToLlvmPass(ModulePass):
    """Needs: loop without blocks. Leaves: llvm. Order: last.

    @main becomes @nn_main(inputs, outputs, weights, arena) and its kernels internal functions;
    without a @main every function keeps its name and takes one pointer for each buffer.
    """

    name = "convert-loop-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        sources = [inner for inner in op.ops if isinstance(inner, func.FuncOp)]
        main = next((inner for inner in sources if inner.sym_name.data == "main"), None)
        require_buffers(sources, main, {*RULES, loop.ArenaOp})
        unit = Unit(target=target_of(op))
        for source in sources:
            if source is main:
                continue
            if source.body.blocks:
                lower_kernel(unit, source, RULES, exported=main is None)
            else:
                declare(unit, source)
        if main is not None:
            describe(op, lower_main(unit, main, RULES, outputs_of(main)), main)
        for source in sources:
            let_go(source.walk())
            source.detach()
            source.erase()
        with located(op):
            op.body.block.add_ops([*declarations(unit), *unit.globals, *unit.functions])
        names = {inner.name for inner in op.walk()}
        others = {name.partition(".")[0] for name in names} - {"builtin", "llvm"}
        if others:
            require_absent(op, others, after=self.name)


def outputs_of(main: func.FuncOp) -> int:
    """Return how many of the last arguments are results."""
    given = main.attributes.get("num_outputs")
    return given.value.data if isinstance(given, IntegerAttr) else 0


def declare(unit: Unit, source: func.FuncOp) -> None:
    """Note a function that is defined elsewhere."""
    unit.declare(
        source.sym_name.data, [unit.type_of(type_) for type_ in source.function_type.inputs], None
    )


def declarations(unit: Unit) -> list[Operation]:
    """Return the functions outside the module that are called."""
    return [llvm.FuncOp(name, type_, EXTERNAL) for name, type_ in unit.declared.items()]
