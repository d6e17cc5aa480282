"""Targets written out: `llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -mattr=+dotprod`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import NoReturn

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import TARGETS, Target, host

LLVM = "llvm"  # what such a text begins with
OPTIONS: Mapping[str, str] = {
    "mtriple": "architecture-vendor-system-environment",
    "mcpu": "a processor, as LLVM calls it",
    "mattr": "features to add (+) or leave out (-), such as +dotprod,-sve",
    "mabi": "how functions are called, such as lp64d",
    "mfloat-abi": "hard or soft: whether functions take floats in registers",
    "msve-vector-bits": "the least length of SVE's vectors: 128, 256, 512, 1024 or 2048",
}
_SYSTEMS = ("linux", "none", "windows", "darwin", "macos", "ios", "freebsd", "wasi", "unknown")
_ARCHITECTURES = {"arm64": "aarch64", "amd64": "x86_64", "x86-64": "x86_64", "armv7a": "armv7"}
_BIG_ENDIAN = ("aarch64_be", "armeb", "thumbeb")
_VECTOR_BITS = ("128", "256", "512", "1024", "2048")
# Processors of x86 by what they have, as far as it matters here; for others, -mattr says it.
_LEVELS = {
    "x86-64-v4": ("x86-64-v4", "skylake-avx512", "cascadelake", "cooperlake", "cannonlake",
                  "icelake-client", "icelake-server", "tigerlake", "rocketlake", "sapphirerapids",
                  "emeraldrapids", "graniterapids", "diamondrapids", "znver4", "znver5"),
    "x86-64-v3": ("x86-64-v3", "haswell", "broadwell", "skylake", "alderlake", "raptorlake",
                  "meteorlake", "arrowlake", "lunarlake", "gracemont", "sierraforest",
                  "znver1", "znver2", "znver3"),
    "x86-64-v2": ("x86-64-v2", "nehalem", "westmere", "sandybridge", "ivybridge", "silvermont",
                  "goldmont", "tremont", "btver2", "bdver1"),
}  # fmt: skip
_BY_FEATURE = {"+avx512f": "x86-64-v4", "+avx2": "x86-64-v3", "+sse4.2": "x86-64-v2"}
_NO_VFP4 = ("generic", "cortex-a8", "cortex-a9")


def parse_target(text: str) -> Target:
    """Return the target of a text that begins with `llvm`; `llvm` alone is this machine.

    Raises: DiagnosticError that says what is wrong with it.
    """
    given = _options(text)
    if not given:
        return replace(host(), name=text)
    if "mtriple" not in given:
        _fail(text, "it has no -mtriple", "for example -mtriple=aarch64-linux-gnu")
    triple = full_triple(given["mtriple"], given.get("mfloat-abi", ""))
    architecture = triple.partition("-")[0]
    if architecture.startswith(_BIG_ENDIAN):
        problem = f"{architecture!r} has its bytes in big-endian order"
        _fail(text, problem, "code and weights are little-endian; the processor may be both")
    for prefixes, describe in _FAMILIES:
        if architecture.startswith(prefixes):
            return replace(describe(triple, given), name=text, triple=triple)
    known = ", ".join(prefix for prefixes, _ in _FAMILIES for prefix in prefixes)
    _fail(text, f"{architecture!r} is no architecture known here", f"those are {known}")


def _options(text: str) -> dict[str, str]:
    first, *words = text.split()
    if first != LLVM:
        _fail(text, f"it begins with {first!r}", "it begins with llvm")
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not equals or not value:
            _fail(text, f"{word!r} is no option", "options look like -mcpu=cortex-a76")
        if name not in OPTIONS:
            close = get_close_matches(name, OPTIONS, 1)
            hint = f"did you mean -{close[0]}?" if close else f"those are {_listed(OPTIONS)}"
            _fail(text, f"there is no option -{name}", hint)
        if name in given:
            _fail(text, f"it has -{name} twice", "once is enough")
        given[name] = value
    _check(text, given)
    return given


def _check(text: str, given: Mapping[str, str]) -> None:
    for feature in given.get("mattr", "").split(","):
        if feature and (feature[0] not in "+-" or len(feature) == 1):
            _fail(text, f"-mattr has {feature!r}", "features look like +dotprod or -sve")
    if given.get("msve-vector-bits", "128") not in _VECTOR_BITS:
        bits = given["msve-vector-bits"]
        _fail(text, f"-msve-vector-bits is {bits}", f"expected {', '.join(_VECTOR_BITS)}")
    if given.get("mfloat-abi", "hard") not in ("hard", "soft"):
        _fail(text, f"-mfloat-abi is {given['mfloat-abi']!r}", "expected hard or soft")


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(f"-{name}" for name in options)


def _fail(text: str, problem: str, hint: str) -> NoReturn:
    raise DiagnosticError(f"error: target {text!r}: {problem}\n  hint: {hint}")


def full_triple(given: str, float_abi: str = "") -> str:
    """Return a triple with all of its parts; without them, LLVM takes another way of calling.

    armv7-linux-gnueabi becomes armv7-unknown-linux-gnueabihf unless floats are to be soft.
    """
    architecture, *rest = given.split("-")
    parts = [_ARCHITECTURES.get(architecture, architecture), *rest]
    if len(parts) == 1:
        parts += ["unknown", "unknown"] if parts[0].startswith("wasm") else ["unknown", "none"]
    if len(parts) < 4 and parts[1].startswith(_SYSTEMS) and not _is_vendor(parts):
        parts.insert(1, "unknown")
    if parts[-1].endswith("eabi") and float_abi != "soft":
        parts[-1] += "hf"
    return "-".join(parts)


def _is_vendor(parts: list[str]) -> bool:
    """Return whether `unknown` or `none` in the second place is a vendor: a system follows."""
    return parts[1] == "unknown" and len(parts) > 2


def _added(given: Mapping[str, str], features: str) -> str:
    return ",".join(part for part in (features, given.get("mattr", "")) if part)


def _x86(triple: str, given: Mapping[str, str]) -> Target:
    cpu, features = given.get("mcpu", "x86-64"), given.get("mattr", "")
    level = next((level for level, names in _LEVELS.items() if cpu in names), "x86-64")
    wanted = [row for feature, row in _BY_FEATURE.items() if feature in features.split(",")]
    row = max([TARGETS[name] for name in (level, *wanted)], key=lambda target: target.vector_bytes)
    if wanted and row.vector_bytes == 16 and level == "x86-64":
        row = TARGETS["x86-64-v2"]
    return replace(row, cpu=cpu, features=features)


def _aarch64(triple: str, given: Mapping[str, str]) -> Target:
    bits = int(given.get("msve-vector-bits", 128))
    features, cpu = given.get("mattr", ""), given.get("mcpu", "generic")
    base = replace(TARGETS["aarch64"], cpu=cpu, features=features, abi=given.get("mabi", ""))
    if bits == 128:  # what NEON has
        return base
    if "+sve" not in features and "+sve2" not in features and given.get("mcpu") is None:
        features = _added({"mattr": features}, "+sve")
    return replace(base, features=features, vector_bytes=min(bits // 8, 64), vscale=bits // 128)


def _arm(triple: str, given: Mapping[str, str]) -> Target:
    cpu = given.get("mcpu", "generic")
    if triple.startswith("thumb") or "-none-" in triple:
        row = TARGETS["cortex-m4"]
        return replace(row, cpu=given.get("mcpu", row.cpu), features=given.get("mattr", ""))
    row = TARGETS["armv7"]
    fuses = "+vfp4" in given.get("mattr", "") or cpu not in _NO_VFP4
    features = _added(given, row.features if cpu == "generic" else "+neon")
    return replace(row, cpu=cpu, features=features, fuses=fuses, abi=given.get("mabi", ""))


def _riscv(triple: str, given: Mapping[str, str]) -> Target:
    row = TARGETS["riscv64"]
    features = _added(given, row.features)
    words = features.split(",")
    wide = [int(word[4:-1]) for word in words if word.startswith("+zvl") and word.endswith("b")]
    bits = max([*wide, 128 if "+v" in words else 64])
    cpu, abi = given.get("mcpu", row.cpu), given.get("mabi", row.abi)
    halves = "+zfh" in words and ("+v" not in words or "+zvfh" in words)
    size = min(bits // 8, 64)
    return replace(row, cpu=cpu, features=features, abi=abi, vector_bytes=size, halves=halves)


def _wasm(triple: str, given: Mapping[str, str]) -> Target:
    features = given.get("mattr", "").split(",")
    row = TARGETS["wasm-relaxed" if "+relaxed-simd" in features else "wasm"]
    if "-simd128" in features:
        row = replace(row, vector_bytes=8)
    return replace(row, features=_added(given, row.features))


_FAMILIES: tuple[tuple[tuple[str, ...], Callable[[str, Mapping[str, str]], Target]], ...] = (
    (("x86_64",), _x86),
    (("aarch64",), _aarch64),
    (("arm", "thumb"), _arm),
    (("riscv64",), _riscv),
    (("wasm32",), _wasm),
)
