"""The C interface of a library as LLVM IR: what is called and checked, which code is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from nn_opt.backends.llvm.cpu_checks import XCR0, Need
from nn_opt.ir.target import Target
from nn_opt.runtime.manifest import Manifest, TensorInfo

CODES = {
    "OK": "the model ran",
    "NO_MEMORY": "there is no memory for temporaries",
    "WRONG_CPU": "the processor lacks what the code needs",  # a library itself says what it is
    "NULL_INPUT": "an input is NULL",
    "NULL_OUTPUT": "an output is NULL",
    "BAD_ARENA": "the arena is NULL or not aligned to 64 bytes",
}
UNKNOWN_CODE = "no such code"
PAGE = 4096


@dataclass(frozen=True)
class Variant:
    """Code for one target: LLVM IR that defines @nn_main, and what must hold before it runs."""

    text: str
    target: Target
    needs: Sequence[Need]
    arena_bytes: int


@dataclass(frozen=True)
class Interface:
    """What the functions of a library are called and say."""

    name: str
    manifest: Manifest
    threads: int
    description: str  # JSON
    hosted: bool = True  # there are threads and an allocator

    @property
    def public(self) -> list[str]:
        """The symbols that others see."""
        words = ["run_in", "input", "output", "message", "variant", "description"]
        return [f"{self.name}_{word}" for word in [*words, *(["run", "threads"] * self.hosted)]]


_TYPES = """
%Tensor = type { ptr, ptr, i64, ptr, i64 }
%Need = type { i32, i32, i32, i64, ptr }
%Variant = type { ptr, ptr, i64, ptr }
"""
_CHOICE = """
@chosen = internal global i32 0
@lacking = internal global ptr null
define internal ptr @lacks(ptr %needs, i64 %count) nounwind {{
entry:
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %have]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %all, label %ask
ask:
  %need = getelementptr %Need, ptr %needs, i64 %k
  %leaf = load i32, ptr %need
  %subleaf.p = getelementptr %Need, ptr %need, i32 0, i32 1
  %subleaf = load i32, ptr %subleaf.p
  %register.p = getelementptr %Need, ptr %need, i32 0, i32 2
  %register = load i32, ptr %register.p
  %bits.p = getelementptr %Need, ptr %need, i32 0, i32 3
  %bits = load i64, ptr %bits.p
  %found = call i64 @probe(i32 %leaf, i32 %subleaf, i32 %register)
  %some = and i64 %found, %bits
  %has = icmp eq i64 %some, %bits
  br i1 %has, label %have, label %lack
have:
  %next = add i64 %k, 1
  br label %look
lack:
  %says.p = getelementptr %Need, ptr %need, i32 0, i32 4
  %says = load ptr, ptr %says.p
  ret ptr %says
all:
  ret ptr null
}}
; The first variant that runs here, from 1 on, or -1; every thread finds the same.
define internal i32 @choose() nounwind {{
entry:
  %known = load atomic i32, ptr @chosen acquire, align 4
  %is = icmp ne i32 %known, 0
  br i1 %is, label %out, label %look
out:
  ret i32 %known
look:
  %k = phi i64 [0, %entry], [%next, %missing]
  %variant = getelementptr %Variant, ptr @variants, i64 %k
  %needs.p = getelementptr %Variant, ptr %variant, i32 0, i32 1
  %needs = load ptr, ptr %needs.p
  %count.p = getelementptr %Variant, ptr %variant, i32 0, i32 2
  %count = load i64, ptr %count.p
  %says = call ptr @lacks(ptr %needs, i64 %count)
  %next = add i64 %k, 1
  %fits = icmp eq ptr %says, null
  br i1 %fits, label %found, label %missing
missing:
  %last = icmp eq i64 %next, {count}
  br i1 %last, label %none, label %look
none:
  store ptr %says, ptr @lacking
  br label %keep
found:
  %number = trunc i64 %next to i32
  br label %keep
keep:
  %choice = phi i32 [%number, %found], [-1, %none]
  store atomic i32 %choice, ptr @chosen release, align 4
  ret i32 %choice
}}
define ptr @{name}_variant() nounwind {{
  %choice = call i32 @choose()
  %fits = icmp sgt i32 %choice, 0
  br i1 %fits, label %yes, label %no
yes:
  %k = sub i32 %choice, 1
  %variant.p = getelementptr %Variant, ptr @variants, i32 %k, i32 3
  %variant = load ptr, ptr %variant.p
  ret ptr %variant
no:
  ret ptr null
}}
"""
# Bytes of machine code, for which LLVM needs no assembler.
# cpuid(leaf, subleaf, four registers): push rbx; mov eax, edi; mov ecx, esi; mov r8, rdx; cpuid;
# mov [r8], eax; mov [r8+4], ebx; mov [r8+8], ecx; mov [r8+12], edx; pop rbx; ret
_CPUID = bytes.fromhex("5389f889f14989d00fa241890041895804418948084189500c5bc3")
_XGETBV = bytes.fromhex("31c90f01d0c3")  # xor ecx, ecx; xgetbv; ret
_PROBE_X86 = """
define internal void @cpuid(i32 %leaf, i32 %subleaf, ptr %to) nounwind noinline \
prologue {cpuid} {{
  unreachable
}}
define internal i32 @xgetbv() nounwind noinline prologue {xgetbv} {{
  unreachable
}}
define internal i64 @probe(i32 %leaf, i32 %subleaf, i32 %register) nounwind {{
entry:
  %all = alloca [4 x i32]
  %special = icmp eq i32 %leaf, {xcr0}
  br i1 %special, label %state, label %ask
state:
  %saved = call i32 @xgetbv()
  %saved64 = zext i32 %saved to i64
  ret i64 %saved64
ask:
  %base = and i32 %leaf, 2147483648
  call void @cpuid(i32 %base, i32 0, ptr %all)
  %most = load i32, ptr %all
  %beyond = icmp ugt i32 %leaf, %most
  br i1 %beyond, label %none, label %known
none:
  ret i64 0
known:
  call void @cpuid(i32 %leaf, i32 %subleaf, ptr %all)
  %value.p = getelementptr [4 x i32], ptr %all, i32 0, i32 %register
  %value = load i32, ptr %value.p
  %value64 = zext i32 %value to i64
  ret i64 %value64
}}
"""
_PROBE_SYSTEM = """
declare i64 @getauxval(i64)
define internal i64 @probe(i32 %leaf, i32 %subleaf, i32 %register) nounwind {
  %leaf64 = zext i32 %leaf to i64
  %value = call i64 @getauxval(i64 %leaf64)
  ret i64 %value
}
"""
_PROBE_NOTHING = """
define internal i64 @probe(i32 %leaf, i32 %subleaf, i32 %register) nounwind {
  ret i64 0
}
"""
_ANSWERS = """
define ptr @{name}_input(i64 %k) nounwind {{
  %is = icmp ult i64 %k, {inputs}
  %at = getelementptr %Tensor, ptr @inputs, i64 %k
  %answer = select i1 %is, ptr %at, ptr null
  ret ptr %answer
}}
define ptr @{name}_output(i64 %k) nounwind {{
  %is = icmp ult i64 %k, {outputs}
  %at = getelementptr %Tensor, ptr @outputs, i64 %k
  %answer = select i1 %is, ptr %at, ptr null
  ret ptr %answer
}}
define ptr @{name}_message(i32 %code) nounwind {{
  %lacking = load ptr, ptr @lacking
  %said = icmp ne ptr %lacking, null
  %cpu = icmp eq i32 %code, {wrong_cpu}
  %own = and i1 %said, %cpu
  %is = icmp ult i32 %code, {codes}
  %row = select i1 %is, i32 %code, i32 {codes}
  %at = getelementptr ptr, ptr @messages, i32 %row
  %usual = load ptr, ptr %at
  %answer = select i1 %own, ptr %lacking, ptr %usual
  ret ptr %answer
}}
define ptr @{name}_description() nounwind {{
  ret ptr @description
}}
define internal i32 @any_null(ptr %table, i64 %count, i32 %code) nounwind {{
entry:
  %null0 = icmp eq ptr %table, null
  %some = icmp ne i64 %count, 0
  %none = and i1 %null0, %some
  br i1 %none, label %bad, label %look
look:
  %k = phi i64 [0, %entry], [%next, %ask]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %good, label %ask
ask:
  %at = getelementptr ptr, ptr %table, i64 %k
  %address = load ptr, ptr %at
  %next = add i64 %k, 1
  %null = icmp eq ptr %address, null
  br i1 %null, label %bad, label %look
good:
  ret i32 0
bad:
  ret i32 %code
}}
define internal i32 @check(ptr %inputs, ptr %outputs) nounwind {{
  %choice = call i32 @choose()
  %fits = icmp sgt i32 %choice, 0
  br i1 %fits, label %first, label %cpu
cpu:
  ret i32 {wrong_cpu}
first:
  %a = call i32 @any_null(ptr %inputs, i64 {inputs}, i32 {null_input})
  %b = call i32 @any_null(ptr %outputs, i64 {outputs}, i32 {null_output})
  %good = icmp eq i32 %a, 0
  %rc = select i1 %good, i32 %b, i32 %a
  ret i32 %rc
}}
define internal ptr @main_of_choice() nounwind {{
  %choice = load atomic i32, ptr @chosen acquire, align 4
  %k = sub i32 %choice, 1
  %main.p = getelementptr %Variant, ptr @variants, i32 %k, i32 0
  %main = load ptr, ptr %main.p
  ret ptr %main
}}
define i32 @{name}_run_in(ptr %inputs, ptr %outputs, ptr %arena) nounwind {{
entry:
  %rc = call i32 @check(ptr %inputs, ptr %outputs)
  %good = icmp eq i32 %rc, 0
  br i1 %good, label %place, label %bad
bad:
  ret i32 %rc
place:
  %address = ptrtoint ptr %arena to i64
  %rest = and i64 %address, 63
  %null = icmp eq i64 %address, 0
  %crooked = icmp ne i64 %rest, 0
  %wrong = or i1 %null, %crooked
  br i1 %wrong, label %no, label %run
no:
  ret i32 {bad_arena}
run:
  %main = call ptr @main_of_choice()
  {call}
  ret i32 0
}}
"""
_CALL_POOL = """%threads32 = load i32, ptr @{name}_threads
  %many = icmp sgt i32 %threads32, 1
  %some = select i1 %many, i32 %threads32, i32 1
  %threads = zext i32 %some to i64
  call void @nn_call(ptr %main, ptr %inputs, ptr %outputs, ptr @weights, ptr %arena, \
i64 %threads)"""
_CALL_MAIN = "call void %main(ptr %inputs, ptr %outputs, ptr @weights, ptr %arena)"
# Each thread that calls keeps its temporaries for its next call.
_HOSTED = """
@{name}_threads = global i32 {threads}
@key = internal global i32 0
%Hook = type {{ i32, ptr, ptr }}
@llvm.global_ctors = appending global [1 x %Hook] [%Hook {{ i32 65535, ptr @start, ptr null }}]
@llvm.global_dtors = appending global [1 x %Hook] [%Hook {{ i32 65535, ptr @stop, ptr null }}]
declare void @nn_pool_init()
declare void @nn_pool_stop()
declare void @nn_call(ptr, ptr, ptr, ptr, ptr, i64)
declare i32 @pthread_key_create(ptr, ptr)
declare i32 @pthread_key_delete(i32)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
define internal void @start() {{
  call void @nn_pool_init()
  %rc = call i32 @pthread_key_create(ptr @key, ptr @free)
  ret void
}}
define internal void @stop() {{
  call void @nn_pool_stop()
  %key = load i32, ptr @key
  %rc = call i32 @pthread_key_delete(i32 %key)
  ret void
}}
define i32 @{name}_run(ptr %inputs, ptr %outputs) {{
entry:
  %key = load i32, ptr @key
  %kept = call ptr @pthread_getspecific(i32 %key)
  %first = icmp eq ptr %kept, null
  br i1 %first, label %allocate, label %run
allocate:
  %new = call ptr @aligned_alloc(i64 {page}, i64 {arena_bytes})
  %none = icmp eq ptr %new, null
  br i1 %none, label %fail, label %keep
keep:
  %rc0 = call i32 @pthread_setspecific(i32 %key, ptr %new)
  br label %run
run:
  %arena = phi ptr [%kept, %entry], [%new, %keep]
  %rc = call i32 @{name}_run_in(ptr %inputs, ptr %outputs, ptr %arena)
  ret i32 %rc
fail:
  ret i32 {no_memory}
}}
"""
# Where there are no threads: a parallel loop is a loop.
SERIAL_POOL = """
define void @nn_pool_init() nounwind {
  ret void
}
define void @nn_pool_stop() nounwind {
  ret void
}
define void @nn_parallel(ptr %body, ptr %context, i64 %extent) nounwind {
  call void %body(i64 0, i64 %extent, ptr %context)
  ret void
}
define void @nn_call(ptr %main, ptr %in, ptr %out, ptr %weights, ptr %arena, i64 %n) nounwind {
  call void %main(ptr %in, ptr %out, ptr %weights, ptr %arena)
  ret void
}
"""


def glue(interface: Interface, variants: Sequence[Variant], weight_bytes: int, section: str) -> str:
    """Return the functions of a library; @nn_main.K is the entry of variant K, the best first."""
    lists = {"inputs": interface.manifest.inputs, "outputs": interface.manifest.outputs}
    words = {
        "name": interface.name,
        "threads": interface.threads,
        "arena_bytes": arena_bytes(variants),
        "page": PAGE,
        "count": len(variants),
        "codes": len(CODES),
        **{word: len(infos) for word, infos in lists.items()},
        **{word.lower(): code for code, word in enumerate(CODES)},
    }
    words["call"] = (_CALL_POOL if interface.hosted else _CALL_MAIN).format(**words)
    texts = _Texts()
    tables = [
        _tensors(texts, "inputs", interface.manifest.inputs),
        _tensors(texts, "outputs", interface.manifest.outputs),
        _pointers("messages", [texts.name(text) for text in [*CODES.values(), UNKNOWN_CODE]]),
        _variants(texts, variants),
        f"@description = internal constant {c_string(interface.description)}",
        f"@weights = internal externally_initialized constant [{weight_bytes} x i8] "
        f'zeroinitializer, section "{section}", align 64',
        *(f"declare void @nn_main.{k}(ptr, ptr, ptr, ptr)" for k in range(len(variants))),
    ]
    functions = [
        _CHOICE.format(**words),
        _probe(variants[0].target, hosted=interface.hosted),
        _ANSWERS.format(**words),
        *([_HOSTED.format(**words)] if interface.hosted else []),
    ]
    return "\n".join([_TYPES, *texts.rows, *tables, *functions])


def arena_bytes(variants: Sequence[Variant]) -> int:
    """Return the bytes that any of these needs for temporaries, whole pages of them."""
    return max(-(-variant.arena_bytes // PAGE) * PAGE for variant in variants) or PAGE


def c_string(text: str) -> str:
    """Return the type and value of a text that ends with a zero byte."""
    data = [*text.encode(), 0]
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else _ESCAPED(b) for b in data)
    return f'[{len(data)} x i8] c"{"".join(plain)}"'


class _Texts:
    """Strings of a library, each once."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self._names: dict[str, str] = {}

    def name(self, text: str) -> str:
        """Return the symbol of a string."""
        if text not in self._names:
            self._names[text] = f"@text.{len(self.rows)}"
            self.rows.append(f"{self._names[text]} = internal constant {c_string(text)}")
        return self._names[text]


def _tensors(texts: _Texts, name: str, infos: Sequence[TensorInfo]) -> str:
    shapes: list[str] = []
    rows: list[str] = []
    for k, info in enumerate(infos):
        sizes = ", ".join(f"i64 {size}" for size in info.sizes)
        count = len(info.sizes)
        value = f"[{sizes}]" if sizes else "zeroinitializer"
        shapes.append(f"@{name}.shape.{k} = internal constant [{count} x i64] {value}")
        size = prod(info.sizes) * info.dtype.itemsize
        rows.append(
            f"%Tensor {{ ptr {texts.name(info.name)}, ptr {texts.name(info.dtype.name)},"
            f" i64 {count}, ptr @{name}.shape.{k}, i64 {size} }}"
        )
    value = f"[{', '.join(rows)}]" if rows else "zeroinitializer"
    return "\n".join([*shapes, f"@{name} = internal constant [{len(rows)} x %Tensor] {value}"])


def _pointers(name: str, symbols: Sequence[str]) -> str:
    rows = ", ".join(f"ptr {symbol}" for symbol in symbols)
    return f"@{name} = internal constant [{len(symbols)} x ptr] [{rows}]"


def _variants(texts: _Texts, variants: Sequence[Variant]) -> str:
    tables: list[str] = []
    rows: list[str] = []
    for k, variant in enumerate(variants):
        needs = ", ".join(
            f"%Need {{ i32 {need.leaf}, i32 {need.subleaf}, i32 {need.register},"
            f" i64 {need.bits}, ptr {texts.name(need.complaint)} }}"
            for need in variant.needs
        )
        count = len(variant.needs)
        value = f"[{needs}]" if needs else "zeroinitializer"
        tables.append(f"@needs.{k} = internal constant [{count} x %Need] {value}")
        rows.append(
            f"%Variant {{ ptr @nn_main.{k}, ptr @needs.{k}, i64 {count},"
            f" ptr {texts.name(variant.target.name)} }}"
        )
    table = f"@variants = internal constant [{len(rows)} x %Variant] [{', '.join(rows)}]"
    return "\n".join([*tables, table])


def _probe(target: Target, *, hosted: bool) -> str:
    if target.architecture == "x86_64":
        return _PROBE_X86.format(cpuid=_code(_CPUID), xgetbv=_code(_XGETBV), xcr0=XCR0)
    return _PROBE_SYSTEM if hosted else _PROBE_NOTHING


_ESCAPED = "\\{:02X}".format


def _code(data: bytes) -> str:
    return f'[{len(data)} x i8] c"{"".join(map(_ESCAPED, data))}"'
