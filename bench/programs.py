"""Texts of many operations, for measuring the tool itself."""

from __future__ import annotations

import random
import struct


def _function(lines: list[str], result: str, signature: str = "%a: i32") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @f({signature}) -> i32 {{\n{body}\n  func.return {result} : i32\n}}\n"


def chain(length: int) -> str:
    """Additions, each of the result of the one before: nothing to rewrite."""
    adds = [f"%v{k + 1} = arith.addi %v{k}, %v{k} : i32" for k in range(length)]
    return _function(adds, f"%v{length}", "%v0: i32")


def constants(length: int) -> str:
    """Sums of two constants that are folded, each read once."""
    lines: list[str] = []
    last = "%a"
    for k in range(length // 4):
        lines += [
            f"%c{k} = arith.constant {k} : i32",
            f"%d{k} = arith.constant {k * 7} : i32",
            f"%s{k} = arith.addi %c{k}, %d{k} : i32",
            f"%x{k} = arith.xori {last}, %s{k} : i32",
        ]
        last = f"%x{k}"
    return _function(lines, last)


def one_constant(length: int) -> str:
    """Additions of one zero: it is read by all, and all of them go."""
    lines = ["%z = arith.constant 0 : i32", "%v0 = arith.addi %a, %z : i32"]
    lines += [f"%v{k + 1} = arith.addi %v{k}, %z : i32" for k in range(length)]
    return _function(lines, f"%v{length}")


def loops(length: int) -> str:
    """Loops of eight ops with something to simplify in each."""
    lines = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
    for _ in range(length // 8):
        lines += [
            "scf.for %i = %c0 to %n step %c1 {",
            "  %x = memref.load %m[%i] : memref<16xi32>",
            "  %z = arith.constant 0 : i32",
            "  %y = arith.addi %x, %z : i32",
            "  %t = arith.muli %y, %y : i32",
            "  memref.store %t, %m[%i] : memref<16xi32>",
            "}",
        ]
    return _function(lines, "%a", "%a: i32, %m: memref<16xi32>, %n: index")


def _numbers(count: int) -> list[float]:
    generator = random.Random(0)
    return [generator.gauss(0, 1) for _ in range(count)]


def _weights(literal: str, count: int, rest: str = "") -> str:
    type_ = f"tensor<{count}xf32>"
    head = f"func.func @f() -> {type_} {{\n  %w = arith.constant {literal} : {type_}\n"
    return f"{head}  func.return %w : {type_}\n}}\n{rest}"


def decimal(count: int) -> str:
    """One constant of many decimal numbers."""
    return _weights(f"dense<[{', '.join(f'{number:.7e}' for number in _numbers(count))}]>", count)


def _hex(count: int) -> str:
    return struct.pack(f"<{count}f", *_numbers(count)).hex().upper()


def hexadecimal(count: int) -> str:
    """The same constant as its bytes."""
    return _weights(f'dense<"0x{_hex(count)}">', count)


def resource(count: int) -> str:
    """The same constant as a resource after the module."""
    blob = f'      w: "0x04000000{_hex(count)}"\n'
    rest = f"{{-#\n  dialect_resources: {{\n    builtin: {{\n{blob}    }}\n  }}\n#-}}\n"
    return _weights("dense_resource<w>", count, rest)


OPS = {"chain": chain, "constants": constants, "one constant": one_constant, "loops": loops}
WEIGHTS = {"decimal": decimal, "hexadecimal": hexadecimal, "resource": resource}
