"""The C interface of a library as LLVM IR: what is called and checked, which code is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from string import Template

from nn_opt.backends.llvm.cpu_checks import Need
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
PAGE, LINE = 4096, 64  # bytes


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
    names = ["interface", *_system(variants[0].target, hosted=interface.hosted)]
    return "\n".join([*(text_of(name, words) for name in names), *texts.rows, *tables])


def text_of(name: str, words: Mapping[str, object] | None = None) -> str:
    """Return a file of glue/, filled in."""
    path = Path(__file__).parent / "glue" / f"{name}.ll"
    return Template(path.read_text(encoding="utf-8")).substitute(words or {})


def _system(target: Target, *, hosted: bool) -> list[str]:
    """Return the files for where the code runs."""
    if not hosted:
        return ["bare"]
    return ["probe_x86_64" if target.architecture == "x86_64" else "probe_system", "hosted"]


def arena_bytes(variants: Sequence[Variant]) -> int:
    """Return the bytes that any of these needs for temporaries: whole pages where there are any."""
    unit = PAGE if variants[0].target.has_threads else LINE
    return max(-(-variant.arena_bytes // unit) * unit for variant in variants) or unit


def c_string(text: str) -> str:
    """Return the type and value of a text that ends with a zero byte."""
    data = [*text.encode(), 0]
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
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
