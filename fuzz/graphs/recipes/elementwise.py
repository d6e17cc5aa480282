"""Functions of single elements, comparisons, casts, bits."""

from __future__ import annotations

from onnx import helper

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.numbers import FLOATS, UNSIGNED, dtype_of

EXACT = ("Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Relu", "Not", "Identity", "BitwiseNot")
ALPHA = ("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "HardSigmoid", "Swish")


@recipe(
    *EXACT,
    *("Exp", "Log", "Sqrt", "Reciprocal", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign"),
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"),
    *("HardSwish", "Mish"),
)
def unary(g: Graph, op: str) -> None:
    parameter = "V" if op == "Identity" else "T"
    x = g.value(schema_types(op, parameter))
    how = "mixing" if op == "HardSwish" else "local"  # it is small between large numbers
    g.add(op, [x], "exact" if op in EXACT else how)


@recipe(*ALPHA, "Selu", "Gelu", "Shrink")
def with_numbers(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    given = {"alpha": g.pick([None, 0.25, 1.5])} if op in ALPHA else {}
    if op == "Gelu":
        given = {"approximate": g.pick([None, "tanh"])}
    if op == "Shrink":
        given = {"lambd": g.pick([None, 0.75]), "bias": g.pick([None, 0.25])}
    g.add(op, [x], "mixing" if op == "Gelu" else "local", **given)


@recipe("com.microsoft.QuickGelu", "com.microsoft.FastGelu", "com.microsoft.BiasGelu")
def contrib_unary(g: Graph, op: str) -> None:
    x = g.value(["float32"], least=1)
    operands = [x]
    if op.endswith("BiasGelu") or (op.endswith("FastGelu") and g.flag()):
        operands.append(g.operand("float32", g.shape(x)[-1:], "normal"))
    g.add(op.rpartition(".")[2], operands, "mixing", domain="com.microsoft")


def partner(g: Graph, x: str, kind: str | None = None) -> str:
    """Return a value that broadcasts with another one."""
    shape, dtype = g.shape(x), g.dtype(x)
    same = [n for n, v in g.values.items() if v.shape == shape and v.dtype == dtype]
    if kind is None and g.flag():
        return g.pick(same)
    other = tuple(size if g.flag() else 1 for size in shape)
    return g.operand(dtype, other[g.whole(0, len(shape)) :], kind)


@recipe("Add", "Sub", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
@recipe("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
def binary(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    pair = [x, partner(g, x)]
    exact = g.dtype(x) not in FLOATS or op not in ("Add", "Sub", "Mul")
    g.add(op, pair[:: g.pick([1, -1])], "exact" if exact else "local")


@recipe("Div", "Mod")
def division(g: Graph, op: str) -> None:
    """Integers are divided by what is positive, so that no result is undefined."""
    x = g.value(schema_types(op))
    isfloat = g.dtype(x) in FLOATS
    y = partner(g, x, None if isfloat and op == "Div" else "positive")
    fmod = int(isfloat or g.flag()) if op == "Mod" else None
    g.add(op, [x, y], "local", fmod=fmod)


@recipe("Pow")
def power(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    dtype = g.pick([t for t in schema_types(op, "T1") if t in g.types])
    shape = tuple(size if g.flag() else 1 for size in g.shape(x))
    y = g.operand(dtype, shape, "between:0:4" if g.dtype(x) in FLOATS else "list:2,")
    g.add(op, [x, y])


@recipe("BitShift")
def shift(g: Graph, op: str) -> None:
    x = g.value(UNSIGNED)
    bits = dtype_of(g.dtype(x)).itemsize * 8
    y = partner(g, x, f"between:0:{bits}")
    g.add(op, [x, y], "exact", direction=g.pick(["LEFT", "RIGHT"]))


@recipe("Max", "Min", "Sum", "Mean")
def variadic(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    operands = [x, *(partner(g, x) for _ in range(g.whole(0, 2)))]
    g.add(op, operands, "exact" if op in ("Max", "Min") else "local")


@recipe("PRelu")
def prelu(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    g.add(op, [x, partner(g, x, g.pick(["normal", "whole"]))])


@recipe("Where")
def where(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    y = partner(g, x)
    condition = g.operand("bool", tuple(s if g.flag() else 1 for s in g.shape(x)))
    g.add(op, [condition, *[x, y][:: g.pick([1, -1])]], "exact")


@recipe("Clip")
def clip(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    ends = [g.operand(g.dtype(x), (), f"between:{k}:{k + 2}") if g.flag() else "" for k in (0, 1)]
    g.add(op, [x, *ends] if ends[1] else [x, ends[0]] if ends[0] else [x], "exact")


@recipe("IsNaN")
def is_nan(g: Graph, op: str) -> None:
    g.add(op, [g.value(schema_types(op, "T1"))], "exact")


@recipe("IsInf")
def is_infinite(g: Graph, op: str) -> None:
    x = g.value(schema_types(op, "T1"))
    sides = {f"detect_{side}": g.pick([None, 0, 1]) for side in ("negative", "positive")}
    g.add(op, [x], "exact", **sides)


@recipe("Cast", "CastLike")
def cast(g: Graph, op: str) -> None:
    """Floats go to integers only where these can hold them: the rest is not defined."""
    x = g.value(schema_types(op, "T1"))
    to = g.pick([t for t in schema_types(op, "T2") if t in g.types])
    if "float" in g.dtype(x) and "int" in to:
        high = 2 if "2" in to else 7
        x = g.operand(g.dtype(x), g.shape(x), f"between:{0 if to[0] == 'u' else -2}:{high}")
    saturate = g.pick([None, 0, 1]) if to.startswith("float8_e4") or "e5m2" in to else None
    if op == "Cast":
        to_code = helper.np_dtype_to_tensor_dtype(dtype_of(to))
        g.add(op, [x], "exact", to=to_code, saturate=saturate)
    else:
        g.add(op, [x, g.operand(to, (1,), "positive")], "exact", saturate=saturate)


def _bits(name: str) -> int:
    fewer = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
    return fewer.get(name, 8 * dtype_of(name).itemsize)


@recipe("BitCast")
def bit_cast(g: Graph, op: str) -> None:
    x = g.value(schema_types(op, "T1"))
    size = dtype_of(g.dtype(x)).itemsize
    pairs = [t for t in schema_types(op, "T2") if dtype_of(t).itemsize == size]
    pairs = [t for t in pairs if _bits(t) == _bits(g.dtype(x))]
    g.add(op, [x], "exact", to=helper.np_dtype_to_tensor_dtype(dtype_of(g.pick(pairs))))


@recipe("Dropout")
def dropout(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    outputs = g.whole(1, 2) if g.opset >= 12 else 1  # before, what a mask holds is open
    g.add(op, [x], "exact", outputs=outputs)
