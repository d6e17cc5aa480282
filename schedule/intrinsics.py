"""Instructions that a loop can become: each is declared by the loops that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from nn_opt.dialects.loop import DotOp, ForOp
from nn_opt.ir.parsing import make_context, parse_module

Build = Callable[[Sequence[SSAValue]], Operation]


@dataclass(frozen=True)
class Intrinsic:
    """`meaning` is a function of one nest over flat buffers, the last of which it updates.

    Each buffer becomes one vector; `build` makes the op that computes the last one anew.
    `feature` is what LLVM calls the ability of a processor to run it; without one, processors of
    such vectors do it by several instructions.
    """

    name: str
    feature: str
    meaning: str
    build: Build

    @property
    def nest(self) -> ForOp:
        """The loops that it stands for."""
        return _parsed(self.meaning)[1]

    @property
    def buffers(self) -> tuple[SSAValue, ...]:
        """The buffers of its meaning."""
        return _parsed(self.meaning)[0].args


@lru_cache(maxsize=64)
def _parsed(meaning: str) -> tuple[FuncOp, ForOp]:
    function = parse_module(make_context(), meaning, "intrinsic").body.block.first_op
    assert isinstance(function, FuncOp), "a meaning is one function"
    nest = function.body.block.first_op
    assert isinstance(nest, ForOp), "a meaning begins with its nest"
    return function, nest


def dot_meaning(lanes: int, group: int, narrow: str, wide: str, extend: tuple[str, str]) -> str:
    """Return acc[l] + sum over k of a[k] * b[group * l + k], as loops."""
    if wide.startswith("f"):
        combine = f"%t = math.fma %u, %v, %s : {wide}"
    else:
        combine = f"%p = arith.muli %u, %v : {wide}\n%t = arith.addi %s, %p : {wide}"
    return f"""
func.func @dot(%a: memref<{group}x{narrow}>, %b: memref<{lanes * group}x{narrow}>,
               %acc: memref<{lanes}x{wide}>) {{
  loop.for %l = 0 to {lanes} {{
    loop.for %k = 0 to {group} {{
      %x = loop.load %a[%k] : memref<{group}x{narrow}>
      %y = loop.load %b[{group} * %l + %k] : memref<{lanes * group}x{narrow}>
      %s = loop.load %acc[%l] : memref<{lanes}x{wide}>
      %u = arith.{extend[0]} %x : {narrow} to {wide}
      %v = arith.{extend[1]} %y : {narrow} to {wide}
      {combine}
      loop.store %t, %acc[%l] : memref<{lanes}x{wide}>
    }}
  }}
  func.return
}}"""


def _dot(values: Sequence[SSAValue]) -> Operation:
    a, b, acc = values
    return DotOp(acc, a, b)


def _unsigned_dot(values: Sequence[SSAValue]) -> Operation:
    a, b, acc = values
    return DotOp(acc, a, b, unsigned=True)


def _bytes(lanes: int) -> str:
    return dot_meaning(lanes, 4, "i8", "i32", ("extui", "extsi"))


BF16 = dot_meaning(16, 2, "bf16", "f32", ("extf", "extf"))
INTRINSICS = {
    intrinsic.name: intrinsic
    for intrinsic in (
        Intrinsic("dot_bf16x2", "avx512bf16", BF16, _dot),
        Intrinsic("dot_u8s8x4", "", _bytes(16), _unsigned_dot),
        Intrinsic("dot_u8s8x4_8", "", _bytes(8), _unsigned_dot),
        Intrinsic("dot_u8s8x4_4", "", _bytes(4), _unsigned_dot),
    )
}
