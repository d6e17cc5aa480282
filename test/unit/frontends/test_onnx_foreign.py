"""Files that are no ONNX models: one line says what each seems to be, the next what to do."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import nn_opt
from nn_opt.driver import main
from nn_opt.frontends.onnx import read_model
from nn_opt.frontends.onnx.foreign import KINDS, TEXTS
from nn_opt.ir.diagnostics import DiagnosticError


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "...")
    return file.getvalue()


def tarred() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return file.getvalue()


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def tensors() -> bytes:
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(4)


def part(field: int, content: bytes) -> bytes:
    """Return a field of a protobuf."""
    return bytes([field << 3 | 2, len(content)]) + content


NODE = part(1, part(1, b"in/x") + part(2, b"Placeholder") + part(5, part(1, b"dtype")))
SAID = {
    "a gzip archive": (gzip.compress(b"model"), "unpack it, and give the model inside"),
    "a zip archive": (zipped("model.onnx"), "unpack it"),
    "a bzip2 archive": (b"BZh91AY&SY", "unpack it"),
    "an xz archive": (b"\xfd7zXZ\0\0", "unpack it"),
    "a Zstandard archive": (b"\x28\xb5\x2f\xfd\4", "unpack it"),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c\0", "unpack it"),
    "a tar archive": (tarred(), "unpack it"),
    "a PyTorch file": (zipped("net/data.pkl", "net/version"), "torch.onnx.export"),
    "a PyTorch program (.pt2)": (zipped("net/archive_format"), "torch.onnx.export"),
    "a Keras model": (zipped("metadata.json", "config.json"), "tf2onnx converts it"),
    "a Keras model (HDF5)": (b"\x89HDF\r\n\x1a\n" + bytes(9) + b"keras_version", "tf2onnx"),
    "an HDF5 file, such as Keras writes": (b"\x89HDF\r\n\x1a\n" + bytes(9), "tf2onnx"),
    "NumPy arrays (.npz)": (zipped("arr_0.npy"), "it holds arrays"),
    "a NumPy array (.npy)": (saved(np.ones(3)), "it holds arrays"),
    "a safetensors file": (tensors(), "it holds arrays"),
    "a pickle of Python": (pickle.dumps({"w": 1}), "torch.onnx.export"),
    "a TensorFlow Lite model": (b"\x1c\0\0\0TFL3" + bytes(9), "tf2onnx converts it"),
    "a TensorFlow SavedModel": (b"\x08\x01\x12\x09\x0a\x07*\x05serve", "tf2onnx converts it"),
    "a TensorFlow graph (.pb)": (NODE + NODE, "tf2onnx converts it"),
    "a model in onnxruntime's own format (.ort)": (b"\x1c\0\0\0ORTM" + bytes(9), "made of"),
    "a TensorRT engine": (b"ftrt" + bytes(9), "the .onnx file that it was made of"),
    "an ExecuTorch program": (b"\x1c\0\0\0ET12" + bytes(9), "torch.onnx.export"),
    "a GGUF file": (b"GGUF\3\0\0\0", "optimum-cli export onnx"),
    "a PNG image": (b"\x89PNG\r\n\x1a\n\xff", "as an input"),
    "a JPEG image": (b"\xff\xd8\xff\xe0\0\x10JFIF", "as an input"),
    "a PDF": (b"%PDF-1.7\n%\xe2\xe3", "give the .onnx file"),
    "an ELF file of machine code": (b"\x7fELF\2\1\1", "made of"),
    "a Core ML model": (b"\x08\4\x12\x18\n\x16com.apple.CoreML.model", "coremltools made it"),
    "a pointer of Git LFS": (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    "a web page": (b"\n<!DOCTYPE html>\n<html>", "download the file itself"),
    "an OpenVINO model": (b'<?xml version="1.0"?>\n<net name="m">', "made of"),
    "XML": (b'<?xml version="1.0"?>\n<a/>', "give the .onnx file"),
    "ONNX's own text": (b'<ir_version: 8, opset_import: ["": 17]>', "onnx.parser.parse_model"),
    "a protobuf in text": (b"ir_version: 8\n", "onnx.load(FILE, format='textproto')"),
    "a TensorFlow graph in text": (b'node {\n  name: "x"\n', "tf2onnx converts it"),
    "JSON": (b'{"layers": []}', "that it describes"),
    "MLIR": (b"func.func @main() {\n", "ends in .mlir"),
    "text": ("na\u00efve".encode() * 1500 + b"\n", "give the .onnx file"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_file_seems_to_be_is_said(name: str) -> None:
    data, hint = SAID[name]
    with pytest.raises(DiagnosticError) as caught:
        read_model(data)
    first, second = str(caught.value).split("\n")
    assert first == f"<bytes>: error: not an ONNX model: it seems to be {name}"
    assert second.startswith("  hint: ")
    assert hint in second


def test_all_rows_of_the_tables_are_tested() -> None:
    assert {kind.name for kind in KINDS} | {name for _, name, _ in TEXTS} <= set(SAID)


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.touch()
    with pytest.raises(DiagnosticError, match=r"\.onnx: error: not an ONNX model: it is empty"):
        nn_opt.compile(path)


@pytest.mark.parametrize(
    ("files", "said", "hint"),
    [
        ([], "it is a folder", "give the .onnx file"),
        (["b.onnx", "a.onnx", "a.txt"], "it is a folder", "it holds a.onnx, b.onnx"),
        (["saved_model.pb"], "it seems to be a TensorFlow SavedModel", "--saved-model "),
        (["Manifest.json"], "it seems to be a Core ML package", "that it was made of"),
    ],
)
def test_folders(tmp_path: Path, files: list[str], said: str, hint: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    for read in (read_model, nn_opt.compile):
        with pytest.raises(DiagnosticError) as caught:
            read(tmp_path)
        first, second = str(caught.value).split("\n")
        assert first == f"{tmp_path}: error: not an ONNX model: {said}"
        assert second.startswith("  hint: ")
        assert hint in second


def test_ir_is_told_from_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(b"\xff\0\0\0TFL3")
    assert main([str(path)]) == 1
    said = capsys.readouterr().err
    assert "this is no UTF-8 text\n  hint: it seems to be a TensorFlow Lite model; tf2onnx" in said
