"""Fragments of matrices in CUDA C++: what tensor cores multiply, as nvcuda::wmma has it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float16Type, Float32Type
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from nn_opt.backends.source.kernel_printer import KernelPrinter, flat_place
from nn_opt.backends.source.printer import Statement
from nn_opt.dialects import gpu
from nn_opt.ir.types import shape_of

ROLES = {"AOp": "matrix_a", "BOp": "matrix_b", "COp": "accumulator"}
SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))  # m, n, k
Kind = gpu.Elementwise
ELEMENTWISE: dict[Kind, type[Operation]] = {
    Kind.AddF: arith.AddfOp,
    Kind.SubF: arith.SubfOp,
    Kind.MulF: arith.MulfOp,
    Kind.DivF: arith.DivfOp,
    Kind.MaxF: arith.MaximumfOp,
    Kind.MinF: arith.MinimumfOp,
    Kind.NegateF: arith.NegfOp,
}


def _fragment(value: SSAValue) -> gpu.MmaMatrixType:
    assert isinstance(value.type, gpu.MmaMatrixType), "the verifier says so"
    return value.type


def _word(p: KernelPrinter, op: Operation, element: Attribute) -> str:
    """Return the type of a fragment's elements.

    Raises: PassFailedException for one that fragments do not have.
    """
    if not isinstance(element, Float16Type | Float32Type):
        raise p.refuse(op, f"has no fragments of {element}", "multiply f16, sum f32 or f16")
    return "half" if isinstance(element, Float16Type) else "float"


def _sizes(p: KernelPrinter, op: Operation, value: SSAValue) -> tuple[int, int, int]:
    """Return the m, n and k of the products that a fragment takes part in.

    Raises: PassFailedException for those that tensor cores do not have.
    """
    known = [_of_product(use.operation) for use in value.uses]
    owner = value.owner
    known += [_of_product(owner)] if isinstance(owner, Operation) else []
    sizes = next((found for found in known if found), None) or (*_fragment(value).shape, 16)
    if sizes not in SHAPES:
        wanted = ", ".join("x".join(map(str, shape)) for shape in SHAPES)
        problem = f"has no products of {sizes[0]}x{sizes[1]}x{sizes[2]}"
        raise p.refuse(op, problem, f"the sizes m x n x k are {wanted}")
    return sizes


def _of_product(op: Operation) -> tuple[int, int, int] | None:
    if isinstance(op, gpu.MmaComputeOp):
        m, k = _fragment(op.opA).shape
        return m, _fragment(op.opB).shape[1], k
    if isinstance(op, gpu.MmaElementwiseOp):
        return next((found for use in op.res.uses if (found := _of_product(use.operation))), None)
    return None


def _declare(p: KernelPrinter, op: Operation, value: SSAValue, layout: str = "") -> str:
    """Declare a fragment; return its name."""
    type_ = _fragment(value)
    role, word = type_.operand.data, _word(p, op, type_.element_type)
    sizes = ", ".join(map(str, _sizes(p, op, value)))
    name = p.name(value, "fragment")
    tail = f", wmma::{layout}" if role != "COp" else ""
    p.say(f"wmma::fragment<wmma::{ROLES[role]}, {sizes}, {word}{tail}> {name};")
    return name


def _address(
    p: KernelPrinter, memref: SSAValue, indices: Sequence[SSAValue], element: Attribute
) -> str:
    dims = [AffineExpr.dimension(k) for k in range(len(indices))]
    buffer = p.buffers[memref]
    offset = p.place(buffer, p.indices(indices).text(flat_place(shape_of(memref), dims)))
    place = f"{buffer.name} + {offset}"
    if not isinstance(element, Float16Type):
        return place
    return f"({'const ' if buffer.constant else ''}half *)({place})"


def load(p: KernelPrinter, op: gpu.MmaLoadOp) -> None:
    p.before_a_region()
    layout = "col_major" if op.transpose is not None else "row_major"
    type_ = _fragment(op.res)
    name = _declare(p, op, op.res, layout)
    place = _address(p, op.srcMemref, op.indices, type_.element_type)
    lead = op.leadDimension.value.data
    tail = f", wmma::mem_{layout}" if type_.operand.data == "COp" else ""
    p.say(f"wmma::load_matrix_sync({name}, {place}, {lead}{tail});")


def store(p: KernelPrinter, op: gpu.MmaStoreOp) -> None:
    p.before_a_region()
    place = _address(p, op.dstMemref, op.indices, _fragment(op.src).element_type)
    layout = "mem_col_major" if op.transpose is not None else "mem_row_major"
    lead = op.leadDimension.value.data
    p.say(f"wmma::store_matrix_sync({place}, {p.words[op.src]}, {lead}, wmma::{layout});")


def compute(p: KernelPrinter, op: gpu.MmaComputeOp) -> None:
    """A sum that nothing else reads becomes the result."""
    p.before_a_region()
    if op.a_transpose is not None or op.b_transpose is not None:
        raise p.refuse(op, "has no products of transposed fragments", "transpose what is loaded")
    a, b, c = (p.words[operand] for operand in op.operands)
    if op.opC.has_one_use():
        name = p.words[op.res] = c
    else:
        name = _declare(p, op, op.res)
    p.say(f"wmma::mma_sync({name}, {a}, {b}, {c});")


def constant(p: KernelPrinter, op: gpu.MmaConstantOp) -> None:
    p.before_a_region()
    name, value = _declare(p, op, op.res, "row_major"), p.stable(op.value)
    is_half = isinstance(_fragment(op.res).element_type, Float16Type)
    p.say(f"wmma::fill_fragment({name}, {f'__ushort_as_half({value})' if is_half else value});")


def elementwise(p: KernelPrinter, op: gpu.MmaElementwiseOp) -> None:
    p.before_a_region()
    element, kind = _fragment(op.res).element_type, ELEMENTWISE.get(op.opType.data)
    if kind is None or not isinstance(element, Float32Type):
        what = f"{op.opType.data.value} of fragments of {element}"
        raise p.refuse(op, f"has no {what}", "store the fragment, and compute with elements")
    names = [p.words[argument] for argument in op.args]
    result = _declare(p, op, op.res)
    block = Block(arg_types=[element for _ in names])
    scalar = kind.create(operands=block.args, result_types=[element])
    text = p.language.expression(scalar, [f"{name}.x[i]" for name in names])
    p.say(f"for (int i = 0; i < {result}.num_elements; ++i) {result}.x[i] = {text};")


STATEMENTS: dict[type[Operation], Statement] = {
    gpu.MmaLoadOp: load,
    gpu.MmaStoreOp: store,
    gpu.MmaComputeOp: compute,
    gpu.MmaConstantOp: constant,
    gpu.MmaElementwiseOp: elementwise,
}
