"""Whole models as WGSL by a driver of Vulkan, in node by an ES module, in Chromium on a page."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tools
from chromium import Chromium
from numpy.typing import NDArray

import nn_opt
from bench import models, real_models
from nn_opt.driver.compile import main

SMALL = ("resnet18", "mobilenet_v2", "bert_tiny")
TRAINED = "voice_window"
TOLERANCE = 1e-4
Array = NDArray[Any]
Feeds = Mapping[str, Array]

SCRIPT = """\
import { readFileSync, writeFileSync } from "node:fs";
import { create, inputs } from "./net.mjs";
const model = await create({ engines: [process.argv[2]] });
const given = inputs.map(({ array }, k) => {
  const bytes = readFileSync(`x${k}`);
  return new globalThis[array](Uint8Array.from(bytes).buffer);
});
model.run(given).forEach((y, k) => {
  writeFileSync(`y${k}`, new Uint8Array(y.buffer, y.byteOffset, y.byteLength));
});
console.log(model.engine);
"""


@cache
def case(name: str) -> tuple[onnx.ModelProto, Feeds, list[Array]]:
    """Return a model, its inputs, and what onnxruntime makes of them."""
    if name in real_models.MODELS:
        path = real_models.find(name)
        if path is None:
            tools.lacking(f"needs {name}: run `python -m bench.real_models`")
        model, feeds = onnx.load(path), real_models.sample_inputs(name)
    else:
        model = models.build_small(name)
        feeds = models.sample_inputs(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return model, feeds, session.run(None, dict(feeds))


def feeds_in_order(model: onnx.ModelProto) -> list[str]:
    """Return the names of a model's inputs; weights may be listed among them."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in weights]


def assert_same(outputs: list[Array], expected: list[Array]) -> None:
    for got, want in zip(outputs, expected, strict=True):
        assert np.abs(want).max() > 10 * TOLERANCE, "the comparison would be vacuous"
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)
        assert got.argmax() == want.argmax()


@tools.needs("vulkan", "wgpu")
@pytest.mark.parametrize("name", [*SMALL, TRAINED])
def test_wgsl_computes_the_same(name: str) -> None:
    model, feeds, expected = case(name)
    shapes = {given: array.shape for given, array in feeds.items()}
    compiled = nn_opt.compile(model, target="webgpu", cache=False, shapes=shapes)
    assert_same(list(compiled.run(dict(feeds)).values()), expected)


@tools.needs("node", "wasm-ld")
@pytest.mark.parametrize("name", [*SMALL, TRAINED])
def test_a_module_in_node_computes_the_same(name: str, tmp_path: Path) -> None:
    """By WebAssembly and by plain JavaScript."""
    model, feeds, expected = case(name)
    onnx.save(model, tmp_path / "model.onnx")
    assert main([str(tmp_path / "model.onnx"), "-o", str(tmp_path / "net.mjs")]) == 0
    (tmp_path / "script.mjs").write_text(SCRIPT)
    for k, given in enumerate(feeds_in_order(model)):
        (tmp_path / f"x{k}").write_bytes(np.ascontiguousarray(feeds[given]).tobytes())
    for engine in ("wasm", "js"):
        command = [tools.need("node"), "script.mjs", engine]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == engine, done.stderr
        files = [tmp_path / f"y{k}" for k in range(len(expected))]
        outputs = [
            np.frombuffer(file.read_bytes(), want.dtype).reshape(want.shape)
            for file, want in zip(files, expected, strict=True)
        ]
        assert_same(outputs, expected)


@tools.needs("wasm-ld")
def test_a_webassembly_module_without_weights_is_small(tmp_path: Path) -> None:
    """MobileNet v2 at full size: 53 convolutions."""
    onnx.save(models.build("mobilenet_v2"), tmp_path / "model.onnx")
    assert main([str(tmp_path / "model.onnx"), "-o", str(tmp_path / "net.wasm")]) == 0
    assert (tmp_path / "net.wasm").stat().st_size < 200_000
    assert (tmp_path / "net.wasm.weights").stat().st_size > 13_000_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium(Path(tools.need("browser"))) as browser:
        yield browser


@tools.needs("browser", "wasm-ld")
@pytest.mark.parametrize("name", [*SMALL, TRAINED])
def test_models_on_a_page_in_a_browser(chromium: Chromium, name: str, tmp_path: Path):
    model, feeds, _ = case(name)
    onnx.save(model, tmp_path / "net.onnx")
    page = tmp_path / "net.html"
    assert main([str(tmp_path / "net.onnx"), "-o", str(page)]) == 0
    chromium.open(f"{page.as_uri()}?engine=wasm")
    chromium.wait("['done', 'error'].includes(document.body.dataset.state)")
    last = "[nnOpt.last.inputs, nnOpt.last.outputs].map((s) => s.map((a) => [...a].map(Number)))"
    inputs, outputs = chromium.run(last)
    names = feeds_in_order(model)
    like = [feeds[name] for name in names]
    given = [np.array(x, a.dtype).reshape(a.shape) for x, a in zip(inputs, like, strict=True)]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    wanted = session.run(None, dict(zip(names, given, strict=True)))
    got = [np.array(y, w.dtype).reshape(w.shape) for y, w in zip(outputs, wanted, strict=True)]
    assert_same(got, wanted)
