"""A compiled model in one file: manifest, object code and weights, each with its checksum."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import struct
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from nn_opt.runtime.manifest import Manifest, ManifestError, from_json, to_json
from nn_opt.runtime.memory import Block
from nn_opt.runtime.weights import Array, pieces

# File: the header, zeros up to a page, the weights, the manifest, the object code. The header
# states all sizes and a SHA-256 of each part and of itself, so a file that was cut, mixed up or
# edited is known before a byte of it is used.
_MAGIC = b"nn-opt weights+\n"
_HEAD = struct.Struct("<16sQQQ")  # magic, bytes of the manifest, of the object code, of the weights
_DIGEST = hashlib.sha256().digest_size
_HEADER_BYTES = _HEAD.size + 4 * _DIGEST
_START = mmap.ALLOCATIONGRANULARITY  # of the weights, so that they can be mapped
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


class Draft:
    """A file in progress: first the weights, then what is known later.

    It appears under its name only when it is finished; if it never is, nothing is left of it.
    """

    def __init__(self, path: Path) -> None:
        """Begin a file.

        Raises: OSError if that cannot be done.
        """
        descriptor, self._name = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
        self._file = os.fdopen(descriptor, "w+b")
        self._path = path
        self._weights = hashlib.sha256()
        self._size = 0

    def pack(self, arrays: Sequence[Array], offsets: Sequence[int], size: int) -> Block:
        """Write weights, array k at offsets[k]; return them as they lie in the file.

        Raises: OSError if they cannot be written.
        """
        self._file.seek(_START)
        for piece in pieces(arrays, offsets, size):
            self._weights.update(piece.data)
            self._file.write(piece.data)
        self._file.flush()
        self._size = size
        return Block.mapped(self._file, _START, size)

    def finish(self, manifest: Manifest, code: bytes) -> None:
        """Write the rest, and let the file appear.

        Raises: OSError if it cannot be written.
        """
        parts = [to_json(manifest), code]
        digests = [hashlib.sha256(part).digest() for part in parts]
        head = _HEAD.pack(_MAGIC, *map(len, parts), self._size)
        head += b"".join([*digests, self._weights.digest()])
        self._file.seek(_START + self._size)
        self._file.writelines(parts)
        self._file.seek(0)
        self._file.write(head + hashlib.sha256(head).digest())
        self._file.flush()
        os.replace(self._name, self._path)

    def close(self) -> None:
        """Remove the file unless it is finished."""
        with suppress(OSError):  # what a full disk did not take
            self._file.close()
        Path(self._name).unlink(missing_ok=True)


def write(artifact: Artifact, path: Path) -> None:
    """Write a file that appears under its name only when it is complete."""
    with closing(Draft(path)) as draft:
        draft.pack([artifact.weights.bytes], [0], artifact.weights.bytes.nbytes)
        draft.finish(artifact.manifest, artifact.code)


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
        if os.fstat(file.fileno()).st_size != _START + sum(sizes):
            raise ArtifactError("the file is cut or has grown")
        if any(_exactly(file, _START - _HEADER_BYTES)):
            raise ArtifactError("the gap before the weights is not empty")
        weights = Block.mapped(file, _START, sizes[2])
        file.seek(_START + sizes[2])
        manifest = _checked(_exactly(file, sizes[0]), digests[0])
        code = _checked(_exactly(file, sizes[1]), digests[1])
    _checked(weights.bytes.data, digests[2])
    try:
        return Artifact(from_json(manifest), code, weights)
    except ManifestError as error:
        raise ArtifactError(str(error)) from error


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
