"""How LLVM's assembly spells types, numbers, names and bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType, LLVMVoidType
from xdsl.ir import Attribute

from nn_opt.ir.memory import remembered
from nn_opt.ir.resources import Array, array_of
from nn_opt.ir.types import element_type, is_vector, numpy_dtype, shape_of

SIMPLE: dict[type[Attribute], str] = {
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
    LLVMPointerType: "ptr",
    LLVMVoidType: "void",
}
SUFFIX: dict[type[Attribute], str] = {
    Float16Type: "f16",
    BFloat16Type: "bf16",
    Float32Type: "f32",
    Float64Type: "f64",
    LLVMPointerType: "p0",
}


@remembered
def type_word(type_: Attribute) -> str:
    """Return a type's text, such as `<16 x float>`.

    Raises: KeyError for a type that LLVM has not.
    """
    match type_:
        case IntegerType():
            return f"i{type_.width.data}"
        case VectorType():
            return f"<{shape_of(type_)[0]} x {type_word(element_type(type_))}>"
        case LLVMArrayType():
            return f"[{type_.size.data} x {type_word(type_.type)}]"
        case LLVMStructType():
            return "{ " + ", ".join(map(type_word, type_.types)) + " }"
        case LLVMPointerType(addr_space=IntAttr(data=space)):
            return f"ptr addrspace({space})"
        case _:
            return SIMPLE[type(type_)]


@remembered
def mangled(type_: Attribute) -> str:
    """Return a type as part of an overloaded intrinsic's name, such as `v16f32`."""
    match type_:
        case IntegerType():
            return f"i{type_.width.data}"
        case VectorType():
            return f"v{shape_of(type_)[0]}{mangled(element_type(type_))}"
        case LLVMPointerType(addr_space=IntAttr(data=space)):
            return f"p{space}"
        case _:
            return SUFFIX[type(type_)]


def _double(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _single(value: float) -> str:
    with np.errstate(over="ignore"):
        return _double(float(np.float32(value)))


def _half(value: float) -> str:
    with np.errstate(over="ignore"):
        return f"0xH{int(np.float16(value).view(np.uint16)):04X}"


def _bfloat(value: float) -> str:
    bits = np.array(value, numpy_dtype(BFloat16Type())).view(np.uint16)
    return f"0xR{int(bits):04X}"


FLOATS: dict[type[Attribute], Callable[[float], str]] = {
    Float16Type: _half,
    BFloat16Type: _bfloat,
    Float32Type: _single,
    Float64Type: _double,
}


def number(value: float | int, type_: Attribute) -> str:
    """Return a number's text; floats by their bits, so that none is rounded twice."""
    spell = FLOATS.get(type(type_))
    return str(int(value)) if spell is None else spell(float(value))


@lru_cache(maxsize=4096)
def constant(value: Attribute, type_: Attribute) -> str:
    """Return a constant as an operand without its type."""
    if isinstance(value, FloatAttr | IntegerAttr):
        return _splat(number(value.value.data, element_type(type_)), type_)
    element = element_type(type_)
    flat = array_of(value, type_).reshape(-1)
    words = [number(item.item(), element) for item in flat]
    if len(set(words)) == 1:
        return _splat(words[0], type_)
    word = type_word(element)
    return "<" + ", ".join(f"{word} {item}" for item in words) + ">"


def _splat(word: str, type_: Attribute) -> str:
    return f"splat ({type_word(element_type(type_))} {word})" if is_vector(type_) else word


def symbol(name: str) -> str:
    """Return a global name; quoted where it has letters that LLVM does not take as they are."""
    plain = all(char.isascii() and (char.isalnum() or char in "._$-") for char in name)
    return f"@{name}" if plain and name and not name[0].isdigit() else f'@"{escaped(name)}"'


def escaped(name: str) -> str:
    """Return a text as LLVM's assembly has it between quotes."""
    data = name.encode()
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)


_BYTES = [f"\\{byte:02X}" for byte in range(256)]


def bytes_literal(array: Array) -> str:
    """Return `[n x i8] c"..."` with the array's bytes."""
    data = np.ascontiguousarray(array).tobytes()
    return f'[{len(data)} x i8] c"{"".join([_BYTES[byte] for byte in data])}"'
