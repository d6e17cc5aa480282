"""insert-timers: a time stamp at the start of nn_main and after each kernel it calls."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import NUMBER
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.locations import located

ENTRY = "nn_main"
TIMER = "nn_profile"  # void(i64): the number of the kernel that has just ended, -1 for none
START = -1


class InsertTimersPass(ModulePass):
    """llvm.call @kernel  ->  llvm.call @kernel; llvm.call @nn_profile(number of the call).

    The number is `nn.number` where a call has that, else its place among the calls.

    Needs: llvm, with @nn_main. Keeps: llvm. Order: last.
    """

    name = "insert-timers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = SymbolTable.lookup_symbol(op, ENTRY)
        if not isinstance(main, llvm.FuncOp) or not main.body.blocks:
            hint = "run --convert-loop-to-llvm first"
            raise PassFailedException(complaint(op, f"has no llvm.func @{ENTRY}", hint=hint))
        calls = list(kernel_calls(op, main))
        _stamp(InsertPoint.at_start(main.body.blocks[0]), START, main)
        for place, call in enumerate(calls):
            given = call.attributes.get(NUMBER)
            number = given.value.data if isinstance(given, IntegerAttr) else place
            _stamp(InsertPoint.after(call), number, call)
        if SymbolTable.lookup_symbol(op, TIMER) is None:
            with located(op):
                op.body.block.add_op(_declaration())


def kernel_calls(module: ModuleOp, main: llvm.FuncOp) -> Iterator[llvm.CallOp]:
    """Yield the calls in main of functions that the module defines, in order."""
    for op in main.walk():
        if isinstance(op, llvm.CallOp) and op.callee is not None:
            callee = SymbolTable.lookup_symbol(module, op.callee)
            if isinstance(callee, llvm.FuncOp) and callee.body.blocks:
                yield op


def _stamp(place: InsertPoint, number: int, origin: Operation) -> None:
    constant = llvm.ConstantOp(IntegerAttr(number, i64), i64)
    call = llvm.CallOp(TIMER, constant.result)
    for op in (constant, call):
        op.location = origin.location
    Rewriter.insert_op([constant, call], place)


def _declaration() -> llvm.FuncOp:
    type_ = llvm.LLVMFunctionType([i64])
    return llvm.FuncOp(TIMER, type_, linkage=llvm.LinkageAttr("external"))
