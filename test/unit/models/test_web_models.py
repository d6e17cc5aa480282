"""The four models as ES modules in node, and on a page in Chromium."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import tools
from chromium import Chromium
from four_models import FOUR, case, make_case

from bench import models
from nn_opt.driver.compile import main

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


@tools.needs("node", "wasm-ld")
@pytest.mark.parametrize("name", FOUR)
def test_a_module_in_node_computes_the_same(name: str, tmp_path: Path) -> None:
    """By WebAssembly and by plain JavaScript."""
    wanted = case(name)
    onnx.save(wanted.model, tmp_path / "model.onnx")
    assert main([str(tmp_path / "model.onnx"), "-o", str(tmp_path / "net.mjs")]) == 0
    (tmp_path / "script.mjs").write_text(SCRIPT)
    for k, given in enumerate(wanted.inputs):
        (tmp_path / f"x{k}").write_bytes(np.ascontiguousarray(given).tobytes())
    for engine in ("wasm", "js"):
        command = [tools.need("node"), "script.mjs", engine]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == engine, done.stderr
        outputs = [
            np.frombuffer((tmp_path / f"y{k}").read_bytes(), like.dtype).reshape(like.shape)
            for k, like in enumerate(wanted.expected)
        ]
        wanted.assert_computed(outputs)


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
@pytest.mark.parametrize("name", FOUR)
def test_models_on_a_page_in_a_browser(chromium: Chromium, name: str, tmp_path: Path) -> None:
    """Of inputs that the page makes up."""
    known = case(name)
    onnx.save(known.model, tmp_path / "net.onnx")
    page = tmp_path / "net.html"
    assert main([str(tmp_path / "net.onnx"), "-o", str(page)]) == 0
    chromium.open(f"{page.as_uri()}?engine=wasm")
    chromium.wait("['done', 'error'].includes(document.body.dataset.state)")
    last = "[nnOpt.last.inputs, nnOpt.last.outputs].map((s) => s.map((a) => [...a].map(Number)))"
    inputs, outputs = chromium.run(last)
    feeds = {
        key: np.array(x, like.dtype).reshape(like.shape)
        for x, (key, like) in zip(inputs, known.feeds.items(), strict=True)
    }
    wanted = make_case(known.model, feeds)
    wanted.assert_computed(
        [
            np.array(y, like.dtype).reshape(like.shape)
            for y, like in zip(outputs, wanted.expected, strict=True)
        ]
    )
