"""A compiled model in one file: manifest, object code and weights, each with its checksum."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import struct
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, TypeVar

from numpy.typing import NDArray

from nn_opt.runtime.manifest import Manifest, ManifestError, from_json, to_json
from nn_opt.runtime.memory import Block

# File: the header, the manifest, the object code, zeros up to a page, the weights. The header
# states all sizes and a SHA-256 of each part and of itself, so a file that was cut, mixed up or
# edited is known before a byte of it is used.
_MAGIC = b"nn-opt artifact\n"
_HEAD = struct.Struct("<16sQQQ")  # magic, bytes of the manifest, of the object code, of the weights
_DIGEST = hashlib.sha256().digest_size
_HEADER_BYTES = _HEAD.size + 4 * _DIGEST
_CHUNK = 1 << 22
UNFINISHED = ".new-"  # what the names of files begin with while they are written
_Part = TypeVar("_Part", bytes, memoryview)


class ArtifactError(Exception):
    """A file that is not a whole artifact of this version; the text says why."""


@dataclass(frozen=True)
class Artifact:
    """Manifest, object code (ELF files, or none for a model of unknown sizes) and weights."""

    manifest: Manifest
    code: bytes
    weights: Block

    @property
    def objects(self) -> list[bytes]:
        """The object files that the code consists of."""
        ends = list(accumulate(self.manifest.object_sizes or (len(self.code),)))
        return [self.code[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def pack_weights(arrays: Sequence[NDArray[Any]], offsets: Sequence[int], size: int) -> Block:
    """Return one block in which array k lies at offsets[k]."""
    block = Block(size)
    for array, offset in zip(arrays, offsets, strict=True):
        assert 0 <= offset <= offset + array.nbytes <= size, "a weight outside its block"
        if array.size:
            place = block.bytes[offset : offset + array.nbytes].view(array.dtype)
            place.reshape(array.shape)[...] = array
    return block


def write(artifact: Artifact, path: Path) -> None:
    """Write a file that appears under its name only when it is complete."""
    parts = [to_json(artifact.manifest), artifact.code, artifact.weights.bytes.data]
    with _replacing(path) as file:
        file.write(_header(parts))
        file.write(parts[0])
        file.write(parts[1])
        file.seek(_page_after(file.tell()))
        file.write(parts[2])
        file.truncate()


def read(path: Path) -> Artifact:
    """Read a file that `write` wrote.

    Raises: ArtifactError if it is anything else; OSError if it cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        head = _exactly(file, _HEADER_BYTES)
        magic, *sizes = _HEAD.unpack_from(head)
        digests = [head[_HEAD.size + k * _DIGEST :][:_DIGEST] for k in range(4)]
        if magic != _MAGIC or hashlib.sha256(head[:-_DIGEST]).digest() != digests[3]:
            raise ArtifactError("the header is not one of this version")
        start = _page_after(_HEADER_BYTES + sizes[0] + sizes[1])
        if os.fstat(file.fileno()).st_size != start + sizes[2]:
            raise ArtifactError("the file is cut or has grown")
        manifest = _checked(_exactly(file, sizes[0]), digests[0])
        code = _checked(_exactly(file, sizes[1]), digests[1])
        if any(_exactly(file, start - file.tell())):
            raise ArtifactError("the gap before the weights is not empty")
        weights = Block.mapped(file, start, sizes[2])
    _checked(weights.bytes.data, digests[2])
    try:
        return Artifact(from_json(manifest), code, weights)
    except ManifestError as error:
        raise ArtifactError(str(error)) from error


def _header(parts: Sequence[bytes | memoryview]) -> bytes:
    head = _HEAD.pack(_MAGIC, *map(len, parts))
    head += b"".join(hashlib.sha256(part).digest() for part in parts)
    return head + hashlib.sha256(head).digest()


@contextmanager
def _replacing(path: Path) -> Generator[IO[bytes]]:
    descriptor, name = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _exactly(file: io.FileIO, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (more := file.read(min(size - len(data), _CHUNK))):
        data += more
    if len(data) != size:
        raise ArtifactError(f"the file ends after {len(data)} of {size} bytes")
    return bytes(data)


def _checked(part: _Part, digest: bytes) -> _Part:
    if hashlib.sha256(part).digest() != digest:
        raise ArtifactError("a part does not match its checksum")
    return part


def _page_after(offset: int) -> int:
    return -(-offset // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
