"""WGSL, the language of WebGPU, without extensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

from nn_opt.backends.source.c99 import float_literal
from nn_opt.backends.source.c_kernels import in_lines
from nn_opt.backends.source.common_rules import half_bits
from nn_opt.backends.source.gpu_language import Buffer, GpuLanguage, KernelHead, Space
from nn_opt.backends.source.gpu_rules import width_of
from nn_opt.backends.source.helpers import used
from nn_opt.backends.source.language import width
from nn_opt.backends.source.wgsl_helpers import HELPERS
from nn_opt.backends.source.wgsl_rules import RULES, VECTOR_RULES, unsigned
from nn_opt.dialects.gpu import AtomicKind
from nn_opt.ir.types import element_type, lanes_of

KEYWORDS = frozenset(
    """alias break case const const_assert continue continuing default diagnostic discard else
    enable false fn for if let loop override requires return struct switch true var while NULL Self
    abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch
    class co_await co_return co_yield coherent column_major common compile compile_fragment concept
    const_cast consteval constexpr constinit crate debugger decltype delete demote do dynamic_cast
    enum explicit export extends extern external fallthrough filter final finally friend from
    fxgroup get goto groupshared highp impl implements import inline instanceof interface layout
    lowp macro macro_rules match mediump meta mod module move mut mutable namespace new nil noexcept
    noinline nointerpolation noperspective null nullptr of operator package packoffset partition
    pass patch pixelfragment precise precision premerge priv protected pub public readonly ref
    regardless register reinterpret_cast require resource restrict self set shared sizeof smooth
    snorm static static_assert static_cast std subroutine super target template this thread_local
    throw trait try type typedef typeid typename typeof union unless unorm unsafe unsized use using
    varying virtual volatile wgsl where with writeonly yield array atomic bool f16 f32 i32 u32 vec2
    vec3 vec4 vec2f vec3f vec4f vec2i vec3i vec4i vec2u vec3u vec4u mat2x2 mat3x3 mat4x4 ptr sampler
    function private workgroup uniform storage read write read_write abs acos acosh all any asin
    asinh atan atan2 atanh bitcast ceil clamp cos cosh countLeadingZeros countOneBits cross degrees
    distance dot exp exp2 extractBits faceForward floor fma fract frexp insertBits inverseSqrt ldexp
    length log log2 max min mix modf normalize pack2x16float pow quantizeToF16 radians reflect
    refract reverseBits round saturate select sign sin sinh smoothstep sqrt step tan tanh transpose
    trunc unpack2x16float storageBarrier workgroupBarrier atomicAdd atomicLoad atomicStore atomicAnd
    atomicOr subgroupAdd subgroupShuffle thread_place block_place lane_place infinity_bits
    nan_bits""".split()
) | {name.rpartition("_")[0] for name in HELPERS}
_PLACES = {
    "thread_place": ("vec3u", "local_invocation_id"),
    "block_place": ("vec3u", "workgroup_id"),
    "lane_place": ("u32", "subgroup_invocation_id"),
}
ATOMICS = {
    AtomicKind.AddI: "Add",
    AtomicKind.MaxS: "Max",
    AtomicKind.MinS: "Min",
    AtomicKind.AndI: "And",
    AtomicKind.OrI: "Or",
    AtomicKind.XorI: "Xor",
    AtomicKind.Assign: "Exchange",
}
HALVES = (Float16Type, BFloat16Type)


def is_packed(buffer: Buffer) -> bool:
    """Return whether several elements share a word: memory of the host's has no other form."""
    return buffer.space is Space.GLOBAL and width(buffer.element) < 32 and not _is_index(buffer)


def access(buffer: Buffer) -> str:
    """Return how kernels bind a buffer."""
    return "read" if buffer.read_only else "read_write"


def _is_index(buffer: Buffer) -> bool:
    return isinstance(buffer.element, IndexType)


# Numbers that no literal stands for, as bits.
_NO_CONSTANTS = {
    "infinity_f32()": "0x7f800000u",
    "(-infinity_f32())": "0xff800000u",
    "nan_f32()": "0x7fc00000u",
}


def _bits(literal: str) -> str:
    """Return the bits of a literal of f32."""
    return f"{int(np.float32(literal.strip('()').removesuffix('f')).view(np.uint32)):#x}u"


class Wgsl(GpuLanguage):
    """WGSL: i32, u32 and f32; narrower elements are packed into words, i64 is two words."""

    name = "WGSL"
    flag = "wgsl"
    reserved = KEYWORDS
    rules = RULES
    vector_rules = VECTOR_RULES
    shared_in_kernel = False
    has_pointers = False
    groups = (4, 2)

    def __init__(self) -> None:
        self._of_bits: set[str] = set()  # tables whose numbers have no literals

    def type_word(self, type_: Attribute) -> str | None:
        match type_:
            case Float32Type():
                return "f32"
            case Float16Type() | BFloat16Type():
                return "u32"
            case IndexType():
                return "i32"
            case IntegerType() if width(type_) == 1:
                return "bool"
            case IntegerType() if width(type_) in (8, 16, 32):
                return "i32"
            case IntegerType() if width(type_) == 64:
                return "vec2u"
            case VectorType():
                return self.vector_word(element_type(type_), lanes_of(type_) or 1)
            case _:
                return None

    def literal(self, value: float, type_: Attribute) -> str:
        if isinstance(type_, HALVES):
            return f"{half_bits(value, type_)}u"
        if isinstance(type_, Float32Type):
            return self._float(value)
        number = int(value)
        if width_of(type_) == 1:
            return "true" if number else "false"
        if width_of(type_) == 64:
            low, high = number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF
            return f"vec2u({low}u, {high}u)"
        if number == -(1 << 31):
            return "(-2147483647 - 1)"
        return f"({number})" if number < 0 else str(number)

    def _float(self, value: float) -> str:
        if value != value:
            return "nan_f32()"
        if value in (float("inf"), float("-inf")):
            return "infinity_f32()" if value > 0 else "(-infinity_f32())"
        return float_literal(value, is_double=False)

    def define(self, name: str, type_: Attribute, value: str) -> str:
        return f"let {name} = {value};"

    def loop(self, index: str, trips: int) -> str:
        return f"for (var {index} = 0; {index} < {trips}; {index}++)"

    def define_variables(self, names: Sequence[str], type_: Attribute) -> str:
        return " ".join(f"var {name}: {self.type_word(type_)};" for name in names)

    def divide_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        return f"({value} / {divisor})" if is_natural else f"floor_divide_i32({value}, {divisor})"

    def modulo_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        return f"({value} % {divisor})" if is_natural else f"floor_modulo_i32({value}, {divisor})"

    def choose(self, condition: str, value: str, other: str) -> str:
        return f"select({other}, {value}, {condition})"

    def to_index(self, text: str, type_: Attribute) -> str:
        return text if width_of(type_) == 32 else f"bitcast<i32>({text}.x)"

    # Buffers

    def array(self, buffer: Buffer) -> str:
        kind = "<workgroup>" if buffer.space is Space.SHARED else ""
        count = max(-(-buffer.elements // buffer.lanes), 1)
        return f"var{kind} {buffer.name}: array<{self._element(buffer)}, {count}>;"

    def table(self, buffer: Buffer, values: Sequence[str]) -> str:
        word = self.type_word(buffer.element)
        if any(value in _NO_CONSTANTS for value in values):
            self._of_bits.add(buffer.name)
            word, values = "u32", [_NO_CONSTANTS.get(value) or _bits(value) for value in values]
        return f"const {buffer.name} = array<{word}, {len(values)}>({', '.join(values)});"

    def part(self, name: str, element: Attribute, source: Buffer, at: str) -> tuple[str, Buffer]:
        start = at if source.at == "0" else f"{source.at} + {at}"
        statement = "" if start == "0" else f"let {name} = {start};"
        at = name if statement else "0"
        part = Buffer(source.name, element, 0, source.space, source.constant, at=at)
        return statement, part

    def is_plain(self, buffer: Buffer) -> bool:
        return not is_packed(buffer)

    def read(self, buffer: Buffer, offset: str) -> str:
        if buffer.name in self._of_bits:
            return f"bitcast<f32>({buffer.name}[{offset}])"
        if not is_packed(buffer):
            text = f"{buffer.name}[{offset}]"
            return f"atomicLoad(&{text})" if buffer.atomic else text
        word, place = _packed(buffer, offset)
        word = word if buffer.constant else f"atomicLoad(&{word})"
        bits = width(buffer.element)
        if isinstance(buffer.element, HALVES):
            return f"extractBits({word}, {place}, 16u)"
        if bits == 1:
            return f"(extractBits({word}, {place}, 8u) != 0u)"
        return f"extractBits(bitcast<i32>({word}), {place}, {bits}u)"

    def write(self, buffer: Buffer, offset: str, value: str) -> str:
        if not is_packed(buffer):
            text = f"{buffer.name}[{offset}]"
            return f"atomicStore(&{text}, {value});" if buffer.atomic else f"{text} = {value};"
        word, place = _packed(buffer, offset)
        mask = "65535u" if width(buffer.element) == 16 else "255u"
        bits = value if isinstance(buffer.element, HALVES) else unsigned(value, buffer.element)
        clear = f"atomicAnd(&{word}, ~({mask} << ({place})));"
        return f"{clear} atomicOr(&{word}, ({bits}) << ({place}));"

    def vector_word(self, element: Attribute, lanes: int) -> str | None:
        letter = "f" if isinstance(element, Float32Type) else "i"
        if lanes not in self.vector_sizes or width_of(element) != 32:
            return None
        return f"vec{lanes}{letter}"

    def lanes_at_once(self, element: Attribute, lanes: int) -> int:
        return super().lanes_at_once(element, lanes) if width_of(element) == 32 else 1

    def moves(self, buffer: Buffer, lanes: int, *, aligned: bool) -> bool:
        return buffer.lanes == lanes

    def read_vector(self, buffer: Buffer, offset: str, lanes: int, *, aligned: bool) -> str:
        return f"{buffer.name}[{_grouped(offset, lanes)}]"

    def write_vector(
        self, buffer: Buffer, offset: str, lanes: int, value: str, *, aligned: bool
    ) -> str:
        return f"{buffer.name}[{_grouped(offset, lanes)}] = {value};"

    def vector(self, element: Attribute, lanes: Sequence[str]) -> str:
        same = lanes[:1] if len(set(lanes)) == 1 else lanes
        return f"{self.vector_word(element, len(lanes))}({', '.join(same)})"

    def computes_vectors(self, type_: Attribute, lanes: int) -> bool:
        return isinstance(type_, Float32Type) and lanes in self.vector_sizes

    def atomic(self, kind: AtomicKind, buffer: Buffer, offset: str, value: str) -> str | None:
        name = ATOMICS.get(kind)
        if name is None or isinstance(buffer.element, Float32Type) or width(buffer.element) != 32:
            return None
        return f"atomic{name}(&{buffer.name}[{offset}], {value})"

    # Lanes

    def lane_id(self, block: tuple[int, int, int]) -> str:
        return "i32(lane_place)"

    def can_shuffle(self, type_: Attribute) -> bool:
        return super().can_shuffle(type_) and width_of(type_) == 32

    def shuffle(self, value: str, lane: str, type_: Attribute) -> str:
        return f"subgroupShuffle({value}, u32({lane}))"

    def shuffle_xor(self, value: str, mask: str, type_: Attribute) -> str:
        return f"subgroupShuffleXor({value}, u32({mask}))"

    def ballot(self, condition: str) -> str:
        return f"bitcast<i32>(subgroupBallot({condition}).x)"

    # The file

    def head(self, title: str, text: str) -> str:
        functions = "".join(f"{function}\n" for function in used(text, HELPERS.get))
        enable = "enable subgroups;\n" if "subgroup" in text or "lane_place" in text else ""
        return f"/* {title} */\n{enable}\n{functions}"

    def kernel(self, head: KernelHead) -> tuple[str, list[str]]:
        lines = [
            f"@group(0) @binding({k}) var<storage, {access(b)}> {b.name}: array<{self._stored(b)}>;"
            for k, b in enumerate(head.arguments)
        ]
        x, y, z = head.block
        parameters = [
            f"@builtin({builtin}) {name}: {type_}"
            for name, (type_, builtin) in _PLACES.items()
            if name in head.text
        ]
        lines.append(f"@compute @workgroup_size({x}, {y}, {z})")
        lines.append(in_lines(f"fn {head.name}(", parameters, ")"))
        return "\n".join(lines), []

    def _stored(self, buffer: Buffer) -> str:
        if is_packed(buffer):
            return "u32" if buffer.constant else "atomic<u32>"
        return self._element(buffer)

    def _element(self, buffer: Buffer) -> str:
        if buffer.lanes > 1:
            return f"{self.vector_word(buffer.element, buffer.lanes)}"
        word = self.type_word(buffer.element)
        return f"atomic<{word}>" if buffer.atomic else f"{word}"

    def place(self, what: str, axis: int) -> str:
        return f"i32({what}_place.{'xyz'[axis]})"

    def barrier(self, *, with_global: bool) -> str:
        return "storageBarrier(); workgroupBarrier();" if with_global else "workgroupBarrier();"


def _packed(buffer: Buffer, offset: str) -> tuple[str, str]:
    """Return the word that an element is in, and the number of bits below it."""
    each = 2 if width(buffer.element) == 16 else 4
    bits = 32 // each
    shift = 1 if each == 2 else 2
    at = offset if offset.isidentifier() or offset.isdigit() else f"({offset})"
    word = f"{buffer.name}[{at} >> {shift}u]"
    return word, f"{bits}u * u32({at} & {each - 1})"


def _grouped(offset: str, lanes: int) -> str:
    """Return the place of a vector among vectors."""
    at = offset if offset.isidentifier() or offset.isdigit() else f"({offset})"
    return f"{at} >> {lanes.bit_length() - 1}u"
