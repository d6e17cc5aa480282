"""Metal Shading Language as C++: attributes become arguments, and only known ones may be there."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tools
from simt_programs import SOURCES, Broken, Kernel, Program, build, call, work_folder

# Of an argument of a kernel: where it comes from.
BUILT_IN = {
    "dispatch_threads_per_threadgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "thread_index_in_simdgroup",
    "thread_index_in_threadgroup",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_grid",
    "threads_per_simdgroup",
    "threads_per_threadgroup",
}
LIMIT = "max_total_threads_per_threadgroup"
ELSEWHERE = {LIMIT, "host_name", "kernel", "maybe_unused", "unroll", "likely"}
ATTRIBUTE = re.compile(r"\[\[\s*(\w+)\s*(?:\(\s*([^)]*?)\s*\))?\s*\]\]")
SEVERAL = re.compile(r"\[\[([^\[\]]*,[^\[\]]*)\]\]")
# `kernel void k(`, with attributes before `kernel`, after it, or among them `[[kernel]]`.
HEAD = re.compile(r"((?:\[\[[^\[\]]*\]\]\s*|\bkernel\s+)+)void\s+(\w+)\s*\(")
# A variable in threadgroup memory; pointers and references to such memory are not meant.
SHARED = re.compile(r"\bthreadgroup\s+(?=[\w:<>, ]+\s+\w+\s*(?:\[|;|=))")
POINTED = re.compile(r"\bthreadgroup\s+[\w:<>, ]+?\s*[*&]")
MOST_BUFFERS = 31
# clang's C++ for OpenCL has Metal's address spaces under other names.
AS_OPENCL = ["-x", "clcpp", "-cl-std=CLC++2021", "-target", "spir64", "-fsyntax-only"]
AS_OPENCL += ["-Xclang", "-finclude-default-header", "-cl-single-precision-constant"]
AS_OPENCL += [f"-I{SOURCES / 'metal_types'}", "-Wno-unknown-pragmas"]


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel: its type, its attribute's name, and the number in that."""

    type: str
    attribute: str
    number: int

    def text(self) -> str:
        """Return what a kernel is called with."""
        if self.attribute == "buffer":
            return f"::simt::argument<{self.type}>(holders[{self.number}])"
        if self.attribute == "threadgroup":
            return f"reinterpret_cast<{self.type}>(::simt::dynamic_shared())"
        return f"simt_{self.attribute}()"


def _parts(text: str) -> list[str]:
    """Return what commas outside of all brackets separate."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([<{") - (letter in ")]>}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _to_matching(text: str, begin: int) -> int:
    """Return where the bracket closes that opens before `begin`."""
    depth = 1
    for place in range(begin, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    raise Broken("a kernel's arguments do not end")


def _argument(kernel: str, text: str) -> Argument:
    found = ATTRIBUTE.findall(text)
    if len(found) != 1:
        raise Broken(f"{kernel}: '{text}' needs one attribute that says where it comes from")
    ((name, number),) = found
    if name not in BUILT_IN | {"buffer", "threadgroup"}:
        raise Broken(f"{kernel}: no argument of a kernel has the attribute '{name}'")
    declared = ATTRIBUTE.sub("", text).strip()
    type_ = re.sub(r"\w+$", "", declared).strip()
    return Argument(type_, name, int(number or 0))


def _check_buffers(kernel: str, arguments: list[Argument]) -> None:
    numbers = [argument.number for argument in arguments if argument.attribute == "buffer"]
    if sorted(numbers) != list(range(len(numbers))):
        raise Broken(f"{kernel}: buffers are numbered {numbers}")
    if len(numbers) > MOST_BUFFERS:
        raise Broken(f"{kernel}: {len(numbers)} buffers, but there are {MOST_BUFFERS} at most")


def one_by_one(text: str) -> str:
    """Write `[[a, b]]` as `[[a]] [[b]]`."""
    return SEVERAL.sub(lambda m: " ".join(f"[[{a.strip()}]]" for a in _parts(m[1])), text)


def kernels_of(text: str) -> dict[str, list[Argument]]:
    """Return the arguments of each kernel.

    Raises: Broken for attributes that Metal does not have there.
    """
    found: dict[str, list[Argument]] = {}
    for head in _heads(text):
        inside = text[head.end() : _to_matching(text, head.end())]
        name = head[2]
        found[name] = [_argument(name, part) for part in _parts(inside)]
        _check_buffers(name, found[name])
    known = ELSEWHERE | BUILT_IN | {"buffer", "threadgroup"}
    unknown = [name for name, _ in ATTRIBUTE.findall(text) if name not in known]
    if unknown:
        raise Broken(f"unknown attributes: {', '.join(unknown)}")
    return found


def _heads(text: str) -> list[re.Match[str]]:
    return [head for head in HEAD.finditer(text) if "kernel" in head[1]]


def limits_of(text: str) -> dict[str, Kernel]:
    """Return the kernels, with how many threads a threadgroup of theirs may have."""
    found: dict[str, Kernel] = {}
    for head in _heads(text):
        said = dict(ATTRIBUTE.findall(head[1]))
        found[head[2]] = Kernel(head[2], int(said.get(LIMIT, 1024)))
    return found


def without_attributes(text: str) -> str:
    return ATTRIBUTE.sub("", text)


def compile_metal(text: str) -> Program:
    """Return a program in Metal Shading Language, compiled for the CPU.

    Raises: Broken with the compiler's words.
    """
    text = one_by_one(text)
    plain = without_attributes(text)
    arguments = kernels_of(text)
    body = SHARED.sub("SIMT_SHARED ", plain)
    if len(re.findall(r"\bthreadgroup\s", body)) > len(POINTED.findall(body)):
        raise Broken("'threadgroup' stands where it is of neither a variable nor a pointer")
    calls = "".join(
        f"SIMT_PUBLIC void simt_kernel_{name}(void** holders) {{ (void)holders; "
        f"{name}({', '.join(argument.text() for argument in given)}); }}\n"
        for name, given in arguments.items()
    )
    whole = f'#include <metal_stdlib>\n#line 1 "kernels.metal"\n{body}\n{calls}'
    return Program(build(whole, "metal"), limits_of(text), by_address=True)


def check_metal(text: str) -> None:
    """Check types and address spaces: that what is `device` is not used as `threadgroup`, say.

    Raises: Broken with the compiler's words.
    """
    text = one_by_one(text)
    kernels_of(text)
    folder = Path(tempfile.mkdtemp(dir=work_folder()))
    plain = re.sub(r"\bmetal::", "", without_attributes(text))
    (folder / "kernels.clcpp").write_text(f'#line 1 "kernels.metal"\n{plain}')
    call([tools.need("clang-19"), *AS_OPENCL, folder / "kernels.clcpp"])
