"""The calls that a module consists of once kernels are outlined, and the arithmetic in each."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from nn_opt.dialects import graph
from nn_opt.dialects.graph.contraction import is_byte
from nn_opt.dialects.graph.winograd import FILTER, algorithm_named
from nn_opt.ir.functions import main_function
from nn_opt.ir.locations import file_place, parts_of
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.runtime.manifest import Kernel

NODES = "nn.nodes"  # on a call: the names of the model's nodes that it computes


def kernels_of(module: ModuleOp) -> tuple[Kernel, ...]:
    """Return a row for each call in @main, in order; a kernel that is called twice has two."""
    rows: list[Kernel] = []
    main = main_function(module)
    for op in main.walk() if main is not None else ():
        if isinstance(op, CallOp):
            kernel = SymbolTable.lookup_symbol(module, op.callee)
            body = kernel.body.block if isinstance(kernel, FuncOp) else Block()
            flops = block_flops(body) * _repeats(op)
            name = op.callee.root_reference.data
            rows.append(Kernel(name, _nodes(op), flops, factors_of(body)))
    return tuple(rows)


def factors_of(block: Block) -> str:
    """Return the type of the numbers that a kernel's convolution or matmul multiplies."""
    for op in block.walk():
        if isinstance(op, graph.ConvOp | graph.MatmulOp):
            element = element_type(op.operands[0])
            return "int8" if is_byte(element) else numpy_dtype(element).name
    return ""


def _nodes(call: CallOp) -> tuple[str, ...]:
    match call.attributes.get(NODES):
        case ArrayAttr(data=names):
            return tuple(name.data for name in names if isinstance(name, StringAttr))
        case _:
            return source_lines(call.location)


def source_lines(location: Attribute) -> tuple[str, ...]:
    """Return the lines of files that a location holds, as `file:line`, each once."""
    places = (file_place(part) for part in parts_of(location))
    known = (f"{os.path.basename(place[0])}:{place[1]}" for place in places if place and place[1])
    return tuple(dict.fromkeys(known))


def _repeats(op: Operation) -> int:
    """Return how often an op runs in one call of @main: once a step of the scans around it."""
    count = 1
    parent = op.parent_op()
    while parent is not None:
        count *= _steps(parent) if isinstance(parent, graph.ScanOp) else 1
        parent = parent.parent_op()
    return count


def _steps(scan: graph.ScanOp) -> int:
    return shape_of(scan.inputs[scan.num_states.value.data])[0]


def block_flops(block: Block) -> int:
    """Return the floating-point operations of a block of graph ops."""
    return sum(op_flops(op) for op in block.ops)


def op_flops(op: Operation) -> int:
    """Return the floating-point operations of an op: 2 a multiply-add, 1 a function, 0 a move."""
    if op.regions:
        inner = sum(block_flops(block) for region in op.regions for block in region.blocks)
        return inner * (_steps(op) if isinstance(op, graph.ScanOp) else 1)
    if rule := RULES.get(type(op)):
        return rule(op)
    if not isinstance(op, graph.GraphOp):
        return 0
    if op.FUSION in (graph.Fusion.ELEMENTWISE, graph.Fusion.BROADCAST):
        return _size(op.results[0])
    return _size(op.operands[0]) if op.FUSION is graph.Fusion.REDUCTION else 0


def _size(value: SSAValue) -> int:
    return prod(shape_of(value))


def _conv(op: Operation) -> int:
    assert isinstance(op, graph.ConvOp)
    result = shape_of(op.results[0])
    channels = result[1] * (result[-1] if op.layout is not None else 1)  # NCHW16c: C/16, 16
    weights = _size(op.w)
    if op.algorithm is not None:  # counted as the sum that it stands for
        weights = weights * FILTER**2 // algorithm_named(op.algorithm.data).points ** 2
    return 2 * prod(result) * weights // max(channels, 1)


def _conv_transpose(op: Operation) -> int:
    x, w = op.operands[:2]
    return 2 * _size(x) * _size(w) // max(shape_of(x)[1], 1)


def _matmul(op: Operation) -> int:
    return 2 * _size(op.results[0]) * shape_of(op.operands[0])[-1]


def _pool(op: Operation) -> int:
    assert isinstance(op, graph.PoolOp)
    return _size(op.results[0]) * prod(int(size) for size in op.kernel.get_values())


def _none(op: Operation) -> int:
    return 0


RULES: dict[type[Operation], Callable[[Operation], int]] = {
    graph.ConvOp: _conv,
    graph.ConvTransposeOp: _conv_transpose,
    graph.MatmulOp: _matmul,
    graph.BlockMatmulOp: _matmul,
    graph.PoolOp: _pool,
    graph.SoftmaxOp: lambda op: 4 * _size(op.results[0]),  # maximum, exp, sum, division
    graph.ExpandOp: _none,
    graph.CastOp: _none,
}
