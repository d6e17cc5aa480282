"""Elementwise ops of one operand."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition

from nn_opt.dialects.graph.fields import flag, flag_def, float_def, real, text, text_def
from nn_opt.dialects.graph.traits import Elements, UnaryOp, check_choice
from nn_opt.ir.types import shape_of, tensor_type

SELU_ALPHA, SELU_GAMMA = 1.6732632, 1.050701  # ONNX Selu-6, rounded to f32


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0); NaN stays NaN."""

    name = "graph.relu"
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER


@irdl_op_definition
class NegOp(UnaryOp):
    """-x."""

    name = "graph.neg"
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER


@irdl_op_definition
class AbsOp(UnaryOp):
    """|x|."""

    name = "graph.abs"
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the power of x; `beside_one`: to be added to 1, and with an error small beside that."""

    name = "graph.exp"

    beside_one = flag_def()

    def __init__(self, x: SSAValue, beside_one: bool = False):
        self.build_inferred((x,), {"beside_one": flag(beside_one)})


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm."""

    name = "graph.log"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Square root."""

    name = "graph.sqrt"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x."""

    name = "graph.reciprocal"


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent."""

    name = "graph.tanh"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "graph.sigmoid"


@irdl_op_definition
class ErfOp(UnaryOp):
    """Error function."""

    name = "graph.erf"


@irdl_op_definition
class SinOp(UnaryOp):
    """Sine."""

    name = "graph.sin"


@irdl_op_definition
class CosOp(UnaryOp):
    """Cosine."""

    name = "graph.cos"


@irdl_op_definition
class TanOp(UnaryOp):
    """Tangent."""

    name = "graph.tan"


@irdl_op_definition
class AsinOp(UnaryOp):
    """Inverse sine."""

    name = "graph.asin"


@irdl_op_definition
class AcosOp(UnaryOp):
    """Inverse cosine."""

    name = "graph.acos"


@irdl_op_definition
class AtanOp(UnaryOp):
    """Inverse tangent."""

    name = "graph.atan"


@irdl_op_definition
class SinhOp(UnaryOp):
    """Hyperbolic sine."""

    name = "graph.sinh"


@irdl_op_definition
class CoshOp(UnaryOp):
    """Hyperbolic cosine."""

    name = "graph.cosh"


@irdl_op_definition
class AsinhOp(UnaryOp):
    """Inverse hyperbolic sine."""

    name = "graph.asinh"


@irdl_op_definition
class AcoshOp(UnaryOp):
    """Inverse hyperbolic cosine."""

    name = "graph.acosh"


@irdl_op_definition
class AtanhOp(UnaryOp):
    """Inverse hyperbolic tangent."""

    name = "graph.atanh"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The next integer downwards."""

    name = "graph.floor"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The next integer upwards."""

    name = "graph.ceil"


@irdl_op_definition
class RoundOp(UnaryOp):
    """The nearest integer, ties to even."""

    name = "graph.round"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1."""

    name = "graph.sign"
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """log(1 + exp(x))."""

    name = "graph.softplus"


@irdl_op_definition
class SoftsignOp(UnaryOp):
    """x / (1 + |x|)."""

    name = "graph.softsign"


@irdl_op_definition
class HardSwishOp(UnaryOp):
    """x * clip(x / 6 + 1 / 2, 0, 1)."""

    name = "graph.hard_swish"


@irdl_op_definition
class MishOp(UnaryOp):
    """x * tanh(softplus(x))."""

    name = "graph.mish"


@irdl_op_definition
class NotOp(UnaryOp):
    """Logical negation."""

    name = "graph.not"
    ELEMENTS: ClassVar[Elements] = Elements.BOOL


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """All bits flipped."""

    name = "graph.bitwise_not"
    ELEMENTS: ClassVar[Elements] = Elements.INTEGER


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """x if x >= 0 else alpha * x."""

    name = "graph.leaky_relu"

    alpha = float_def()

    def __init__(self, x: SSAValue, alpha: float = 0.01):
        self.build_inferred((x,), {"alpha": real(alpha)})


@irdl_op_definition
class EluOp(UnaryOp):
    """x if x >= 0 else alpha * (exp(x) - 1)."""

    name = "graph.elu"

    alpha = float_def()

    def __init__(self, x: SSAValue, alpha: float = 1.0):
        self.build_inferred((x,), {"alpha": real(alpha)})


@irdl_op_definition
class SeluOp(UnaryOp):
    """gamma * (x if x > 0 else alpha * (exp(x) - 1))."""

    name = "graph.selu"

    alpha = float_def()
    gamma = float_def()

    def __init__(self, x: SSAValue, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA):
        self.build_inferred((x,), {"alpha": real(alpha), "gamma": real(gamma)})


@irdl_op_definition
class CeluOp(UnaryOp):
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))."""

    name = "graph.celu"

    alpha = float_def()

    def __init__(self, x: SSAValue, alpha: float = 1.0):
        self.build_inferred((x,), {"alpha": real(alpha)})


@irdl_op_definition
class HardSigmoidOp(UnaryOp):
    """clip(alpha * x + beta, 0, 1)."""

    name = "graph.hard_sigmoid"

    alpha = float_def()
    beta = float_def()

    def __init__(self, x: SSAValue, alpha: float = 0.2, beta: float = 0.5):
        self.build_inferred((x,), {"alpha": real(alpha), "beta": real(beta)})


@irdl_op_definition
class ThresholdedReluOp(UnaryOp):
    """x if x > alpha else 0."""

    name = "graph.thresholded_relu"

    alpha = float_def()

    def __init__(self, x: SSAValue, alpha: float = 1.0):
        self.build_inferred((x,), {"alpha": real(alpha)})


@irdl_op_definition
class GeluOp(UnaryOp):
    """x times the normal distribution function of x: exact, or by the tanh formula."""

    name = "graph.gelu"

    approximate = text_def()

    def __init__(self, x: SSAValue, approximate: str = "none"):
        self.build_inferred((x,), {"approximate": text(approximate)})

    def check(self) -> None:
        super().check()
        check_choice("approximate", self.approximate.data, ("none", "tanh"))


@irdl_op_definition
class IsNaNOp(UnaryOp):
    """Whether x is not a number."""

    name = "graph.isnan"

    def infer_result_types(self) -> list[Attribute]:
        return [tensor_type(shape_of(self.x), i1)]


@irdl_op_definition
class IsInfOp(UnaryOp):
    """Whether x is an infinity of a sign that is to be detected."""

    name = "graph.isinf"

    detect_negative = flag_def()
    detect_positive = flag_def()

    def __init__(self, x: SSAValue, detect_negative: bool = True, detect_positive: bool = True):
        flags = {"detect_negative": flag(detect_negative), "detect_positive": flag(detect_positive)}
        self.build_inferred((x,), flags)

    def infer_result_types(self) -> list[Attribute]:
        return [tensor_type(shape_of(self.x), i1)]
