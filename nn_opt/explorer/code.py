"""Generated text in pieces, one a function, and the op that each line is there for.

Debug information brings the ops along: while a module is printed for it, the line of an op's
location is its number. It is taken out of the text again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

NOBODY = -1  # a line that is there for no op
_FILE = StringAttr("explorer")
_DEFINE = re.compile(r'^define [^@\n]*@("[^"\n]*"|[^\s(]+)\(')
_HEAD = re.compile(r"^[A-Za-z].*?\b(\w+)\([^;]*\{$")
_KERNEL = re.compile(r"^(?:void|kernel void|fn) (\w+)\(")
_DEBUG = re.compile(r",? !dbg !(\d+)")
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!DI(?:Location|Subprogram)\(.*?\bline: (\d+)")
_TYPE = re.compile(r'^\s*\.type\s+("[^"\n]*"|[^,\s]+),\s*[@%]function')
_PLACE = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)")
# What is there for debuggers only; the labels are those that it speaks of.
_NOISE = re.compile(r"^(?:\s*\.(?:loc|file|cfi_\w+)\b|\.L(?:tmp|func_begin|file_)\w*:|\s*#DEBUG)")
_DEBUG_SECTION = re.compile(r'^\s*\.section\s+"?\.debug_')


@dataclass(frozen=True)
class Piece:
    """A function, or what is outside of all; `ops` has a number, or NOBODY, for each line."""

    name: str
    text: str
    ops: tuple[int, ...] = ()


@contextmanager
def numbered(module: ModuleOp, ops: Sequence[Operation]) -> Generator[None]:
    """While active, the location of each op is its number, from 1 on, as a line."""
    kept: list[tuple[Operation, LocationAttr]] = [(op, op.location) for op in module.walk()]
    for number, op in enumerate(ops, 1):
        op.location = FileLineColLoc(_FILE, IntAttr(number), IntAttr(1))
    try:
        yield
    finally:
        for op, location in kept:
            op.location = location


def llvm_pieces(text: str, debug: str) -> list[Piece]:
    """Split LLVM IR where functions end; `debug` is the same with debug information."""
    lines = text.rstrip("\n").split("\n")
    marked = debug.split("\n")
    numbers = {match[1]: int(match[2]) - 1 for line in marked if (match := _NODE.match(line))}
    found = [_DEBUG.search(line) for line in marked]
    ops = [numbers.get(match[1], NOBODY) if match else NOBODY for match in found]
    names, name = list[str](), ""
    for line in lines:
        if match := _DEFINE.match(line):
            name = match[1].strip('"')
        names.append(name)
        name = "" if line == "}" else name
    return _pieces(names, lines, ops)


def assembly_pieces(text: str) -> list[Piece]:
    """Split assembly with debug information before each function's type."""
    names, lines, ops = list[str](), list[str](), list[int]()
    name, op = "", NOBODY
    for line in text.split("\n"):
        if _DEBUG_SECTION.match(line):
            break
        if match := _TYPE.match(line):
            name, op = match[1].strip('"'), NOBODY
        if match := _PLACE.match(line):
            op = int(match[1]) - 1
        if _NOISE.match(line):
            continue
        names.append(name)
        lines.append(line)
        ops.append(op if line.startswith("\t") and not line.startswith("\t.") else NOBODY)
    return _pieces(names, lines, ops)


def source_pieces(text: str, functions: Collection[str]) -> list[Piece]:
    """Split a text of a language with braces: some functions, each with the comment before it."""
    lines = text.rstrip("\n").split("\n")
    names, name = list[str](), ""
    for line in lines:
        match = _HEAD.match(line)
        if match and match[1] in functions:
            name = match[1]
            if names and lines[len(names) - 1].startswith("/*"):
                names[-1] = name
        names.append(name)
        name = "" if line == "}" else name
    return _pieces(names, lines, [NOBODY] * len(lines))


def kernel_pieces(text: str, kernels: Collection[str]) -> list[Piece]:
    """Split a text of kernels: each with its comment, and what is declared between the two."""
    lines = text.rstrip("\n").split("\n")
    names, first = [""] * len(lines), 0
    for k, line in enumerate(lines):
        match = _KERNEL.match(line)
        if line.startswith("/*"):
            first = k
        elif match and match[1] in kernels:
            last = next(n for n in range(k, len(lines)) if lines[n] == "}")
            names[first : last + 1] = [match[1]] * (last + 1 - first)
    return _pieces(names, lines, [NOBODY] * len(lines))


def _pieces(names: Sequence[str], lines: Sequence[str], ops: Sequence[int]) -> list[Piece]:
    """Join lines of one name; what has none, wherever it is, is the last piece."""
    pieces: list[Piece] = []
    outside: list[int] = []
    for name, group in groupby(range(len(lines)), names.__getitem__):
        places = list(group)
        if name:
            pieces.append(_piece(name, places, lines, ops))
        else:
            outside += [k for k in places if lines[k].strip()]
    rest = _piece("", outside, lines, ops)
    return [*pieces, rest] if rest.text else pieces


def _piece(name: str, places: list[int], lines: Sequence[str], ops: Sequence[int]) -> Piece:
    while places and not lines[places[0]].strip():
        places.pop(0)
    while places and not lines[places[-1]].strip():
        places.pop()
    return Piece(name, "\n".join(lines[k] for k in places), tuple(ops[k] for k in places))
