"""Object code into memory: every symbol it needs is looked up before anything runs."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from nn_opt.runtime.llvm import llvm

_lock = threading.Lock()


class RuntimeFault(Exception):
    """A model cannot be loaded or run here; the text is a finished diagnostic."""


class Unloadable(RuntimeFault):
    """Bytes that are not object code of this machine, or that need a function which is not here."""


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def native_machine(optimize: int = 3) -> Any:
    """Return LLVM's description of this machine, for code that is called in this process."""
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=optimize,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


class LoadedCode:
    """Machine code in memory for as long as this object lives."""

    def __init__(self, objects: Sequence[bytes]) -> None:
        """Load object files that may call each other.

        Raises: Unloadable.
        """
        needed = _needed(objects)
        with _lock:
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), native_machine())
            # only an engine makes the process's own symbols known
            missing = sorted(name for name in needed if not llvm.address_of_symbol(name))
            if missing:  # MCJIT would say nothing and jump to address 0
                names = ", ".join(missing)
                raise Unloadable(f"error: the compiled code needs what is not here: {names}")
            for data in objects:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return where a function starts.

        Raises: Unloadable if there is none of that name.
        """
        found: int = self._engine.get_function_address(name)
        if not found:
            raise Unloadable(f"error: the compiled code has no function {name!r}")
        return found


def _needed(objects: Sequence[bytes]) -> set[str]:
    """Return the symbols that none of the objects defines."""
    tables = [dict(symbols(data)) for data in objects]
    defined = {name for table in tables for name, here in table.items() if here}
    return {name for table in tables for name in table} - defined


# ELF (System V ABI, little-endian): the headers of the file, a section and a symbol; of files for
# 32 bits as well, where sections are to be found.
_FILE = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SHORT = struct.Struct("<16sHHIIIIIHHHHHH"), struct.Struct("<IIIIIIIIII")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB = 2
_LOCAL = 0


def symbols(data: bytes | bytearray) -> Iterator[tuple[str, bool]]:
    """Yield the name of each global symbol of an ELF object, and whether it is defined there.

    Raises: Unloadable if the bytes are no such object.
    """
    try:
        yield from _symbols(data)
    except (struct.error, ValueError, IndexError) as error:
        raise Unloadable(f"error: not a 64-bit ELF object: {error}") from error


def find_section(data: bytes, name: str) -> tuple[int, int]:
    """Return the offset and size of a section of an ELF object, which must have it."""
    sections = _sections(data)
    names = _slice(data, sections[int(_layout(data)[0].unpack_from(data)[13])])
    for section in sections:
        if names[section[0] : names.index(b"\0", section[0])] == name.encode():
            return section[4], section[5]
    raise Unloadable(f"error: the object has no section {name!r}")


def _layout(data: bytes | bytearray) -> tuple[struct.Struct, struct.Struct]:
    """Return how the headers of a file and of its sections are laid out."""
    return _SHORT if data[4] == 1 else (_FILE, _SECTION)


def _sections(data: bytes | bytearray) -> list[tuple[int, ...]]:
    file, row = _layout(data)
    header = file.unpack_from(data)
    start, count = header[6], header[12]
    return [row.unpack_from(data, start + i * row.size) for i in range(count)]


def _symbols(data: bytes | bytearray) -> Iterator[tuple[str, bool]]:
    header = _FILE.unpack_from(data)
    if header[0][:6] != b"\x7fELF\x02\x01":
        raise ValueError("the file does not begin as one")
    sections = _sections(data)
    for table in sections:
        if table[1] != _SYMTAB:
            continue
        names = _slice(data, sections[table[6]])
        for name, info, _, section, _, _ in _SYMBOL.iter_unpack(_slice(data, table)):
            if name and info >> 4 != _LOCAL:
                yield names[name : names.index(b"\0", name)].decode("ascii"), section != 0


def _slice(data: bytes | bytearray, section: tuple[int, ...]) -> bytes:
    offset, size = section[4], section[5]
    if offset + size > len(data):
        raise ValueError("a section reaches beyond its end")
    return bytes(data[offset : offset + size])
