"""Files that are no ONNX models: what they seem to be by their first bytes, and what to do then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

HEAD = 4096  # bytes that are looked at
SHOWN = 3  # files of a folder that are named


class Bytes(Protocol):
    """What can be sliced to bytes: bytes, a mapped file."""

    def __getitem__(self, index: slice, /) -> bytes: ...


@dataclass(frozen=True)
class Kind:
    """A kind of file: bytes at a place tell it, and one that is inside of others, a word in it."""

    name: str
    magic: bytes
    hint: str
    at: int = 0
    word: bytes = b""
    is_sure: bool = False

    @property
    def said(self) -> str:
        """What is said of a file in place of a model."""
        return f"it {'is' if self.is_sure else 'seems to be'} {self.name}"

    def fits(self, head: bytes) -> bool:
        """Return whether a file that begins so seems to be one."""
        return head.startswith(self.magic, self.at) and self.word in head


UNPACK = "unpack it, and give the model inside"
TORCH = "load it in PyTorch and write it with torch.onnx.export"
TENSORFLOW = "tf2onnx converts it: python -m tf2onnx.convert --help"
ARRAYS = "it holds arrays and says not what to compute of them; export the model they are for"
LANGUAGE = "it holds weights of a language model; export that with optimum-cli export onnx"
RUNTIME = "give the .onnx file that it was made of"
IR = "nn-opt reads IR from a file whose name ends in .mlir"

ZIP, PICKLE = b"PK\x03\x04", b"\x80"
# Of kinds with the same magic, the last one is for all others.
KINDS: Sequence[Kind] = (
    Kind("a PyTorch file", ZIP, TORCH, word=b".pkl"),
    Kind("a PyTorch program (.pt2)", ZIP, TORCH, word=b"archive_format"),
    Kind("a Keras model", ZIP, TENSORFLOW, word=b"metadata.json"),
    Kind("NumPy arrays (.npz)", ZIP, ARRAYS, word=b".npy"),
    Kind("a zip archive", ZIP, UNPACK),
    Kind("a gzip archive", b"\x1f\x8b", UNPACK),
    Kind("a bzip2 archive", b"BZh", UNPACK),
    Kind("an xz archive", b"\xfd7zXZ\0", UNPACK),
    Kind("a Zstandard archive", b"\x28\xb5\x2f\xfd", UNPACK),
    Kind("a 7z archive", b"7z\xbc\xaf\x27\x1c", UNPACK),
    Kind("a tar archive", b"ustar", UNPACK, at=257),
    Kind("a PyTorch file", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9", TORCH),
    *(Kind("a pickle of Python", PICKLE + bytes([n]), TORCH) for n in (2, 3, 4, 5)),
    Kind("a Keras model (HDF5)", b"\x89HDF\r\n\x1a\n", TENSORFLOW, word=b"keras"),
    Kind("an HDF5 file, such as Keras writes", b"\x89HDF\r\n\x1a\n", TENSORFLOW),
    Kind("a TensorFlow Lite model", b"TFL3", TENSORFLOW, at=4),
    Kind("a TensorFlow SavedModel", b"\x08\x01\x12", TENSORFLOW),
    Kind("a model in onnxruntime's own format (.ort)", b"ORTM", RUNTIME, at=4),
    Kind("a TensorRT engine", b"ftrt", RUNTIME),
    Kind("an ExecuTorch program", b"ET12", TORCH, at=4),
    Kind("a GGUF file", b"GGUF", LANGUAGE),
    Kind("a NumPy array (.npy)", b"\x93NUMPY", ARRAYS),
    Kind("a PNG image", b"\x89PNG\r\n\x1a\n", "give it to a model as an input"),
    Kind("a JPEG image", b"\xff\xd8\xff", "give it to a model as an input"),
    Kind("a PDF", b"%PDF", "give the .onnx file"),
    Kind("an ELF file of machine code", b"\x7fELF", RUNTIME),
)
# Texts, by what stands in their first lines.
TEXTS: Sequence[tuple[str, str, str]] = (
    (r"version https://git-lfs", "a pointer of Git LFS", "git lfs pull fetches the file itself"),
    (r"(?i)<!doctype html|<html", "a web page", "download the file itself; a login may be needed"),
    (r"<\?xml.*<net\b|<net\b", "an OpenVINO model", RUNTIME),
    (r"<\?xml|<svg", "XML", "give the .onnx file"),
    (r"< *ir_version *:", "ONNX's own text", "onnx.parser.parse_model reads it; save that"),
    (r"ir_version *:", "a protobuf in text", "onnx.load(FILE, format='textproto') reads it"),
    (r"node *\{", "a TensorFlow graph in text", TENSORFLOW),
    (r"[{[]", "JSON", "give the .onnx file that it describes"),
    (r".*\b(func\.func|module\b.*\{)|#\w|//", "MLIR", IR),
)


def seems(data: Bytes) -> Kind | None:
    """Return what a file that is no ONNX model seems to be, None if nothing is known of it."""
    head = bytes(data[:HEAD])
    if not head:
        return Kind("empty", b"", "download or export it again", is_sure=True)
    for kind in KINDS:
        if kind.fits(head):
            return kind
    if head[8:10] in (b'{"', b"{ ") and not any(head[5:8]):
        return Kind("a safetensors file", b"", ARRAYS)
    if re.match(rb"\n.{1,3}\n.([\w./-]+)\x12.[A-Z]\w+", head, re.DOTALL):
        return Kind("a TensorFlow graph (.pb)", b"", TENSORFLOW)
    if re.match(rb"\x08[\x01-\x0f]\x12.{1,3}\n", head, re.DOTALL) and b"coreml" in head.lower():
        return Kind("a Core ML model", b"", "coremltools made it; export the original instead")
    return _text(head)


def _text(head: bytes) -> Kind | None:
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < HEAD - 3:  # else a letter was cut
            return None
        text = head[: error.start].decode("utf-8-sig")
    if not all(letter.isprintable() or letter in "\t\n\r\f" for letter in text):
        return None
    for pattern, name, hint in TEXTS:
        if re.match(pattern, text.lstrip(), re.DOTALL):
            return Kind(name, b"", hint)
    return Kind("text", b"", "give the .onnx file")


def of_folder(path: Path) -> Kind:
    """Return what a folder seems to be, by the names in it."""
    names = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
    if "saved_model.pb" in names:
        hint = f"tf2onnx converts it: python -m tf2onnx.convert --saved-model {path}"
        return Kind("a TensorFlow SavedModel", b"", hint)
    if path.suffix == ".mlpackage" or "Manifest.json" in names:
        return Kind("a Core ML package", b"", "give the .onnx file that it was made of")
    models = [name for name in names if name.endswith(".onnx")][:SHOWN]
    hint = f"it holds {', '.join(models)}" if models else "give the .onnx file"
    return Kind("a folder", b"", hint, is_sure=True)
