"""Elementwise ops of several operands: arithmetic, logic, comparison, choice and casts."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def
from xdsl.utils.hints import isa

from nn_opt.dialects.graph.fields import flag, flag_def, opt_text, opt_text_def, text, text_def
from nn_opt.dialects.graph.shapes import broadcast_shape
from nn_opt.dialects.graph.traits import (
    BinaryOp,
    CompareOp,
    Elements,
    Fusion,
    GraphOp,
    check_choice,
    check_elements,
    check_same_elements,
)
from nn_opt.ir.types import element_type, shape_of, tensor_type


@irdl_op_definition
class AddOp(BinaryOp):
    """x + y; integers wrap."""

    name = "graph.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """x - y; integers wrap."""

    name = "graph.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """x * y; integers wrap."""

    name = "graph.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """x / y; integers truncate toward zero."""

    name = "graph.div"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger one; NaN if either is."""

    name = "graph.max"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller one; NaN if either is."""

    name = "graph.min"


@irdl_op_definition
class PReluOp(BinaryOp):
    """x if x >= 0 else slope * x; the slope is the second operand."""

    name = "graph.prelu"


@irdl_op_definition
class AndOp(BinaryOp):
    """Logical and."""

    name = "graph.and"
    ELEMENTS: ClassVar[Elements] = Elements.BOOL


@irdl_op_definition
class OrOp(BinaryOp):
    """Logical or."""

    name = "graph.or"
    ELEMENTS: ClassVar[Elements] = Elements.BOOL


@irdl_op_definition
class XorOp(BinaryOp):
    """Logical exclusive or."""

    name = "graph.xor"
    ELEMENTS: ClassVar[Elements] = Elements.BOOL


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """Bits set in both."""

    name = "graph.bitwise_and"
    ELEMENTS: ClassVar[Elements] = Elements.INTEGER


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """Bits set in either."""

    name = "graph.bitwise_or"
    ELEMENTS: ClassVar[Elements] = Elements.INTEGER


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """Bits set in one only."""

    name = "graph.bitwise_xor"
    ELEMENTS: ClassVar[Elements] = Elements.INTEGER


@irdl_op_definition
class EqualOp(CompareOp):
    """x == y."""

    name = "graph.equal"
    ELEMENTS: ClassVar[Elements] = Elements.ANY


@irdl_op_definition
class LessOp(CompareOp):
    """x < y."""

    name = "graph.less"


@irdl_op_definition
class LessEqualOp(CompareOp):
    """x <= y."""

    name = "graph.less_equal"


@irdl_op_definition
class GreaterOp(CompareOp):
    """x > y."""

    name = "graph.greater"


@irdl_op_definition
class GreaterEqualOp(CompareOp):
    """x >= y."""

    name = "graph.greater_equal"


@irdl_op_definition
class PowOp(BinaryOp):
    """x to the power of y, in the element type of x; y may have another one."""

    name = "graph.pow"

    def check(self) -> None:
        super().check()
        check_elements(self.rhs, Elements.NUMBER, "exponent")

    def result_element(self) -> Attribute:
        return element_type(self.lhs)


@irdl_op_definition
class ModOp(BinaryOp):
    """The remainder: with the sign of y, or with `fmod` that of x (as C's fmod)."""

    name = "graph.mod"

    fmod = flag_def()

    def __init__(self, lhs: SSAValue, rhs: SSAValue, fmod: bool = False):
        self.build_inferred((lhs, rhs), {"fmod": flag(fmod)})


@irdl_op_definition
class ShiftOp(BinaryOp):
    """x shifted by y bits, direction "left" or "right"; zeros come in."""

    name = "graph.shift"
    ELEMENTS: ClassVar[Elements] = Elements.INTEGER

    direction = text_def()

    def __init__(self, lhs: SSAValue, rhs: SSAValue, direction: str):
        self.build_inferred((lhs, rhs), {"direction": text(direction)})

    def check(self) -> None:
        super().check()
        check_choice("direction", self.direction.data, ("left", "right"))


@irdl_op_definition
class WhereOp(GraphOp):
    """a where the condition holds, else b; all three broadcast."""

    name = "graph.where"
    FUSION: ClassVar[Fusion] = Fusion.BROADCAST
    ELEMENTS: ClassVar[Elements] = Elements.BOOL

    condition = operand_def(TensorType)
    a = operand_def(TensorType)
    b = operand_def(TensorType)

    def __init__(self, condition: SSAValue, a: SSAValue, b: SSAValue):
        self.build_inferred((condition, a, b))

    def infer_result_types(self) -> list[Attribute]:
        check_same_elements(self.a, self.b)
        shape = broadcast_shape(*map(shape_of, self.operands))
        return [tensor_type(shape, element_type(self.a))]


@irdl_op_definition
class ClipOp(GraphOp):
    """min(max(x, low), high); the bounds are scalars, either may be absent."""

    name = "graph.clip"
    FUSION: ClassVar[Fusion] = Fusion.ELEMENTWISE
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER

    x = operand_def(TensorType)
    low = opt_operand_def(TensorType)
    high = opt_operand_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, x: SSAValue, low: SSAValue | None = None, high: SSAValue | None = None):
        self.build_inferred((x, low, high))

    def infer_result_types(self) -> list[Attribute]:
        for bound in self.operands[1:]:
            check_same_elements(self.x, bound)
            if any(size != 1 for size in shape_of(bound)):
                raise ValueError(f"a bound has shape {list(shape_of(bound))}, expected a scalar")
        return [self.x.type]


@irdl_op_definition
class CastOp(GraphOp):
    """x in the element type of the result: floats truncate to integers, integers wrap.

    Floats round to nearest even. What is too large for a float of 8 bits becomes the largest
    number, or `unsaturated` an infinity or, without one, NaN; 4 and 6 bits always saturate.
    f8E8M0FNU has powers of two, of the size of x: those above it, below it ("down") or the nearest
    one ("nearest", the larger of two). Beyond the smallest and largest one they saturate, too.
    """

    name = "graph.cast"
    FUSION: ClassVar[Fusion] = Fusion.ELEMENTWISE

    x = operand_def(TensorType)

    unsaturated = flag_def()
    round_mode = opt_text_def()

    def __init__(
        self, x: SSAValue, element: Attribute, saturate: bool = True, round_mode: str = "up"
    ):
        properties = {
            "unsaturated": flag(not saturate),
            "round_mode": opt_text("" if round_mode == "up" else round_mode),
        }
        self.build_inferred((x,), properties, declared=tensor_type((), element))

    def check(self) -> None:
        super().check()
        if self.round_mode is not None:
            check_choice("round_mode", self.round_mode.data, ("down", "nearest"))

    def infer_result_types(self) -> list[Attribute]:
        return [tensor_type(shape_of(self.x), element_type(self.result))]


@irdl_op_definition
class BitcastOp(GraphOp):
    """The bits of x as another element type of as many bits."""

    name = "graph.bitcast"
    FUSION: ClassVar[Fusion] = Fusion.ELEMENTWISE

    x = operand_def(TensorType)

    def __init__(self, x: SSAValue, element: Attribute):
        self.build_inferred((x,), declared=tensor_type((), element))

    def infer_result_types(self) -> list[Attribute]:
        source, target = element_type(self.x), element_type(self.result)
        if element_bits(source) != element_bits(target):
            raise ValueError(f"{source} and {target} have different numbers of bits")
        return [tensor_type(shape_of(self.x), target)]


def element_bits(element: Attribute) -> int:
    """Return the bits of an element; a bool has those of the byte that holds it."""
    assert isinstance(element, AnyFloat) or isa(element, IntegerType)
    return max(8, element.bitwidth) if element == i1 else element.bitwidth
