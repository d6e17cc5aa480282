"""infer-shapes: compute the result types of every graph op again, from the arguments on."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import graph
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.recursion import unbounded
from nn_opt.ir.types import element_type, shape_of, tensor_type


class InferShapesPass(ModulePass):
    """Propagate types from the arguments of each function to its results; `?` becomes a size.

    Needs: graph, anything else is passed over. Keeps: graph. Order: first, after import or after
    the types of arguments were changed. Fails, naming the op, where the operands do not fit.
    """

    name = "infer-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [inner for inner in op.walk() if isinstance(inner, FuncOp)]:
            for block in function.body.blocks:
                infer_block(block)
            update_signature(function)


@unbounded
def infer_block(block: Block) -> None:
    """Infer the results of the ops of a block in order, those in regions before the op's own."""
    for op in block.ops:
        for index, inner in enumerate(inner for region in op.regions for inner in region.blocks):
            assert index == 0, "graph regions have one block"
            set_types(inner.args, region_argument_types(op))
            infer_block(inner)
        if isinstance(op, graph.GraphOp | graph.FusedOp | graph.ScanOp):
            set_types(op.results, inferred_types(op))


def inferred_types(op: graph.GraphOp | graph.FusedOp | graph.ScanOp) -> list[Attribute]:
    """Return the inferred result types of an op; its shape function's complaint has the place."""
    try:
        return list(op.infer_result_types())
    except ValueError as error:
        raise PassFailedException(complaint(op, str(error))) from error


def region_argument_types(op: Operation) -> list[Attribute]:
    """Return the types that the arguments of an op's region must have."""
    match op:
        case graph.FusedOp():
            return [operand.type for operand in op.operands]
        case graph.ScanOp():
            states = [value.type for value in op.inits]
            return [*states, *(slice_type(value.type) for value in op.scanned)]
        case _:
            return [argument.type for block in op.regions[0].blocks for argument in block.args]


def slice_type(scanned: Attribute) -> Attribute:
    """Return the type of one step's slice of a scanned tensor."""
    return tensor_type(shape_of(scanned)[1:], element_type(scanned))


def set_types(values: tuple[SSAValue, ...], types: list[Attribute]) -> None:
    """Give values their types; nothing is touched where they have them already."""
    for value, type_ in zip(values, types, strict=True):
        if value.type != type_:
            Rewriter.replace_value_with_new_type(value, type_)


def update_signature(function: FuncOp) -> None:
    """Make the type of a function agree with its block."""
    if not function.body.blocks:
        return
    last = function.body.blocks[-1].last_op
    if not isinstance(last, ReturnOp):
        return
    inputs = [argument.type for argument in function.body.blocks[0].args]
    outputs = [operand.type for operand in last.operands]
    function.function_type = FunctionType.from_lists(inputs, outputs)
