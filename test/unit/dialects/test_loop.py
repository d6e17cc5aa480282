import io

import pytest
from tensor_kernels import KERNELS, apply, parse
from xdsl.dialects.builtin import f32, i1
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.printer import Printer

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.types import memref_type, vector_type
from nn_opt.passes.lower_blocks import LowerBlocksPass


def generic(module) -> str:
    text = io.StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_both_forms_of_a_text_come_back(name: str, lowered: bool):
    steps = [ConvertTensorToLoopPass(), LowerBlocksPass()][: 1 + lowered]
    module = apply(KERNELS[name].module(), *steps)
    text = str(module)
    assert str(parse(text)) == text
    assert str(parse(generic(module))) == text


@pytest.mark.parametrize(
    ("shape", "stride", "expected"),
    [
        ((8, 8), 1, (1, 1)),
        ((8, 8), 2, (1, 2)),
        ((8, 8), -1, (1, -1)),
        ((8, 8), 8, (0, 1)),
        ((8, 8), 16, (0, 2)),
        ((8, 8), 9, (1, 9)),  # nothing is nine apart; the row has no such element either
        ((4, 1, 8), 8, (0, 1)),  # never along a dimension of one element
        ((5,), 3, (0, 3)),
        ((1, 1), 1, None),
        ((), 1, None),
        ((0, 4), 1, None),
    ],
)
def test_a_stride_says_which_index_moves(shape, stride, expected):
    assert loop.lane_dimension(shape, stride) == expected


def test_bytes_of_buffers():
    assert byte_size(memref_type([3, 5], f32)) == 60
    assert byte_size(memref_type([], f32)) == 4
    assert byte_size(memref_type([0, 4], f32)) == 0
    assert byte_size(memref_type([3, 5], i1)) == 15  # a byte each


def test_builders_take_plain_values():
    buffer = loop.AllocOp("b", memref_type([4, 8], f32, "stack")).result
    nest = loop.ForOp(8, kind=loop.ForKind.UNROLL, name_hint="j")
    assert (nest.trips, nest.how, nest.index.name_hint) == (8, loop.ForKind.UNROLL, "j")
    j = AffineExpr.dimension(0)
    scalar = loop.LoadOp(buffer, [nest.index], [j // 2, j], default=0.5)
    assert (scalar.accessed, scalar.step) == (f32, 1)
    vector = loop.LoadOp(buffer, [], AffineMap(0, 0, (AffineExpr.constant(0),) * 2),
                         type_=vector_type(4, f32), stride=8)  # fmt: skip
    assert (vector.accessed, vector.step) == (vector_type(4, f32), 8)
    store = loop.StoreOp(vector.result, buffer, [nest.index], [j // 2, j], stride=-1)
    assert (store.accessed, store.step) == (vector_type(4, f32), -1)
    for op in (scalar, vector, store):
        op.verify()


def test_a_loop_can_change_its_kind():
    nest = loop.ForOp(8)
    assert nest.how is loop.ForKind.SERIAL
    nest.how = loop.ForKind.VECTOR
    nest.verify()
    assert nest.kind.data == "vector"
