"""Every operation on scalars with every element type: what backends must compute alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Every element type, with what is special about it.
FLOATS = [0.0, -0.0, 1.5, -2.5, 0.5, 3.0, -7.25, 1e-3, 100.0, np.inf, -np.inf, np.nan]
INTEGERS = {
    8: [0, 1, -1, 127, -128, 5, -7, 100],
    16: [0, 1, -1, 32767, -32768, 5, -7, 300],
    32: [0, 1, -1, (1 << 31) - 1, -(1 << 31), 5, -7, 70000],
    64: [0, 1, -1, (1 << 63) - 1, -(1 << 63), 5, -7, 1 << 40],
}
WIDTHS = list(INTEGERS)
BINARY_FLOAT = """addf subf mulf divf maximumf minimumf maxnumf minnumf remf""".split()
BINARY_INTEGER = """addi subi muli andi ori xori maxsi minsi maxui minui""".split()
DIVISIONS = """divsi divui remsi remui floordivsi ceildivsi""".split()
SHIFTS = """shli shrsi shrui""".split()
COMPARISONS = "eq ne slt sle sgt sge ult ule ugt uge".split()
FLOAT_COMPARISONS = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
UNARY_FLOAT = """math.absf math.sqrt math.floor math.ceil math.trunc math.round math.roundeven
    arith.negf""".split()
SMOOTH = """math.exp math.log math.tanh math.erf math.sin math.cos math.tan math.atan math.exp2
    math.expm1 math.log1p math.log2 math.sinh math.cosh math.asinh""".split()
WITHIN_1 = "math.asin math.acos math.atanh".split()


def pairs(values: Sequence[Any], dtype: Any) -> tuple[Any, Any]:
    """Return all pairs of values, as two arrays."""
    left, right = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return left.reshape(-1), right.reshape(-1)


CASES: list[tuple[str, list[Any], list[str], str, str]] = []


def case(name: str, arrays: Sequence[Any], types: Sequence[str], result: str, body: str) -> None:
    CASES.append((name, list(arrays), list(types), result, body))


for bits in WIDTHS:
    t, dtype = f"i{bits}", f"int{bits}"
    a, b = pairs(INTEGERS[bits], dtype)
    for op in BINARY_INTEGER:
        case(f"{op} {t}", [a, b], [t, t], t, f"%r = arith.{op} %a, %b : {t}")
    safe = (b != 0) & ~((b == -1) & (a == np.iinfo(dtype).min))
    for op in DIVISIONS:
        case(f"{op} {t}", [a[safe], b[safe]], [t, t], t, f"%r = arith.{op} %a, %b : {t}")
    small = np.abs(b % bits).astype(dtype)
    for op in SHIFTS:
        case(f"{op} {t}", [a, small], [t, t], t, f"%r = arith.{op} %a, %b : {t}")
    for op in COMPARISONS:
        case(f"cmpi {op} {t}", [a, b], [t, t], "i1", f"%r = arith.cmpi {op}, %a, %b : {t}")
    one = np.array(INTEGERS[bits], dtype)
    case(f"absi {t}", [one], [t], t, f"%r = math.absi %a : {t}")
    for other in ("f32", "f64"):
        case(f"sitofp {t} {other}", [one], [t], other, f"%r = arith.sitofp %a : {t} to {other}")
        case(f"uitofp {t} {other}", [one], [t], other, f"%r = arith.uitofp %a : {t} to {other}")
    flags = np.array([0, 1], np.bool_)
    case(f"extsi i1 {t}", [flags], ["i1"], t, f"%r = arith.extsi %a : i1 to {t}")
    case(f"extui i1 {t}", [flags], ["i1"], t, f"%r = arith.extui %a : i1 to {t}")
    case(f"trunci {t} i1", [one], [t], "i1", f"%r = arith.trunci %a : {t} to i1")
    for wider in WIDTHS[WIDTHS.index(bits) + 1 :]:
        w = f"i{wider}"
        case(f"extsi {t} {w}", [one], [t], w, f"%r = arith.extsi %a : {t} to {w}")
        case(f"extui {t} {w}", [one], [t], w, f"%r = arith.extui %a : {t} to {w}")
        wide = np.array(INTEGERS[wider], f"int{wider}")
        case(f"trunci {w} {t}", [wide], [w], t, f"%r = arith.trunci %a : {w} to {t}")
for t, dtype in (("f32", np.float32), ("f64", np.float64)):
    a, b = pairs(FLOATS, dtype)
    for op in BINARY_FLOAT:
        case(f"{op} {t}", [a, b], [t, t], t, f"%r = arith.{op} %a, %b : {t}")
    case(f"copysign {t}", [a, b], [t, t], t, f"%r = math.copysign %a, %b : {t}")
    for op in FLOAT_COMPARISONS:
        case(f"cmpf {op} {t}", [a, b], [t, t], "i1", f"%r = arith.cmpf {op}, %a, %b : {t}")
    one = np.array(FLOATS, dtype)
    for op in UNARY_FLOAT:
        case(f"{op} {t}", [one], [t], t, f"%r = {op} %a : {t}")
    smooth = np.array([0.0, 0.1, 0.9, 1.0, 1.5, 2.5, 3.25, 5.5], dtype)
    for op in SMOOTH:
        case(f"{op} {t}", [smooth], [t], t, f"%r = {op} %a : {t}")
    within = np.array([-0.9, -0.5, -1e-3, 0.0, 0.25, 0.75], dtype)
    for op in WITHIN_1:
        case(f"{op} {t}", [within], [t], t, f"%r = {op} %a : {t}")
    above = np.array([1.0, 1.0625, 1.5, 7.0, 1e6], dtype)
    case(f"math.acosh {t}", [above], [t], t, f"%r = math.acosh %a : {t}")
    left, right = pairs([-2.5, -1.0, 0.5, 3.0], dtype)
    for op in ("math.powf", "math.atan2"):
        name = f"{op} {t}"
        base = np.abs(left) if op == "math.powf" else left
        case(name, [base, right], [t, t], t, f"%r = {op} %a, %b : {t}")
    finite = np.array([0.0, 1.9, -1.9, 100.5, -100.5, 3.0], dtype)
    for w in ("i8", "i32", "i64"):
        case(f"fptosi {t} {w}", [finite], [t], w, f"%r = arith.fptosi %a : {t} to {w}")
        positive = np.abs(finite)
        case(f"fptoui {t} {w}", [positive], [t], w, f"%r = arith.fptoui %a : {t} to {w}")
    integer = "i32" if t == "f32" else "i64"
    case(f"bitcast {t}", [one], [t], integer, f"%r = arith.bitcast %a : {t} to {integer}")
    case(f"select {t}", [a < 1, a, b], ["i1", t, t], t, f"%r = arith.select %a, %b, %c : {t}")
flag_a, flag_b = pairs([False, True], np.bool_)
for op in ("andi", "ori", "xori", "addi", "muli"):
    case(f"{op} i1", [flag_a, flag_b], ["i1", "i1"], "i1", f"%r = arith.{op} %a, %b : i1")
case("extf", [np.array(FLOATS, "f4")], ["f32"], "f64", "%r = arith.extf %a : f32 to f64")
case(
    "truncf", [np.array([*FLOATS, 1e-46, 1e39, 0.1])], ["f64"], "f32",
    "%r = arith.truncf %a : f64 to f32",
)  # fmt: skip
