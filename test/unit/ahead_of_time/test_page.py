"""Pages in a browser: what they compute of an image or of numbers, what they say, what they ask."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from chromium import Chromium
from samples import Sample

from nn_opt.driver.compile import main

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.5)
LABELS = [f"a <b>{k}</b> & more" for k in range(10)]
DONE = "['done', 'error'].includes(document.body.dataset.state)"
DROP = """(async () => {
  const canvas = new OffscreenCanvas(96, 48), pen = canvas.getContext("2d");
  pen.fillStyle = "rgb(200, 40, 90)";
  pen.fillRect(0, 0, 96, 48);
  const file = new File([await canvas.convertToBlob()], "red.png", { type: "image/png" });
  const carried = new DataTransfer();
  carried.items.add(file);
  document.body.dataset.state = "waiting";
  dispatchEvent(new DragEvent("drop", { dataTransfer: carried, cancelable: true }));
})()"""


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """Give out the browser; then nothing was asked for but a page and what it made itself."""
    chromium.problems.clear()
    chromium.requests.clear()
    chromium.resize(900, 800)
    yield chromium
    assert chromium.problems == []
    assert [url for url in chromium.requests if not url.startswith(("file:", "blob:"))] == []


@pytest.fixture(scope="session")
def image_page(mobilenet: Sample, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page for images."""
    folder = tmp_path_factory.mktemp("image page")
    (folder / "labels.txt").write_text("\n".join(LABELS))
    numbers = [",".join(map(str, numbers)) for numbers in (MEAN, STD)]
    options = ["--mean", numbers[0], "--std", numbers[1], "--labels", str(folder / "labels.txt")]
    page = folder / "net.html"
    assert main([str(mobilenet.path), "-o", str(page), *options]) == 0
    return page.as_uri()


@pytest.fixture(scope="session")
def numbers_page(mlp: Sample, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page for numbers."""
    page = tmp_path_factory.mktemp("numbers page") / "net.html"
    assert main([str(mlp.path), "-o", str(page)]) == 0
    return page.as_uri()


def computed(browser: Chromium) -> tuple[np.ndarray, np.ndarray]:
    """Return the input and the output of the last run."""
    browser.wait(DONE)
    last = browser.run("[...nnOpt.last.inputs, ...nnOpt.last.outputs].map((a) => [...a])")
    return np.array(last[0], np.float32), np.array(last[1], np.float32)


def expected(sample: Sample, x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(sample.path))
    (y,) = session.run(None, {sample.name: x.reshape(sample.x.shape)})
    return np.asarray(y).reshape(-1)


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("", "WebAssembly with relaxed vectors"),
        ("?engine=wasm", "WebAssembly with vectors"),
        ("?engine=js", "JavaScript"),
    ],
)
def test_an_image_is_classified(
    browser: Chromium, image_page: str, mobilenet: Sample, engine: str, name: str
):
    browser.open(image_page + engine)
    x, y = computed(browser)
    wanted = expected(mobilenet, x)
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)
    order = [int(k) for k in np.argsort(-wanted, kind="stable")[:5]]
    rows = browser.run("[...document.querySelectorAll('.top li')].map((r) => r.innerText)")
    shares = np.exp(wanted - wanted.max()) / np.exp(wanted - wanted.max()).sum()
    assert [row.split("\n")[0] for row in rows] == [LABELS[k] for k in order]
    given = [float(row.split("\n")[1].removesuffix(" %")) for row in rows]
    np.testing.assert_allclose(given, 100 * shares[order], atol=0.06)
    assert re.fullmatch(rf"[\d.]+ ms in {name}", browser.text("#status"))


def test_pixels_become_numbers_as_the_page_says(browser: Chromium, image_page: str):
    browser.open(image_page)
    x, _ = computed(browser)
    pixels = browser.run(
        "[...document.querySelector('#preview').getContext('2d').getImageData(0, 0, 32, 32).data]"
    )
    colours = np.array(pixels, np.float64).reshape(32, 32, 4)[:, :, :3] / 255
    wanted = ((colours - MEAN) / STD).transpose(2, 0, 1)
    np.testing.assert_allclose(x.reshape(3, 32, 32), wanted, rtol=1e-6, atol=1e-6)
    assert "scaled to 32 by 32 pixels; red, green, blue" in browser.text("#formula")


def test_whole_pixels_with_channels_last(browser: Chromium, tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]> g (uint8[1,12,20,3] x) => (float[1,3] y)
    { f = Cast<to = 1>(x)  y = ReduceMean<axes = [1, 2], keepdims = 0>(f) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "mean.onnx")
    page = tmp_path / "mean.html"
    assert main([str(tmp_path / "mean.onnx"), "--target", "js", "-o", str(page)]) == 0
    browser.open(page.as_uri())
    x, y = computed(browser)
    pixels = browser.run(
        "[...document.querySelector('#preview').getContext('2d').getImageData(0, 0, 20, 12).data]"
    )
    np.testing.assert_array_equal(x, np.array(pixels).reshape(-1, 4)[:, :3].reshape(-1))
    np.testing.assert_allclose(y, x.reshape(-1, 3).mean(0), rtol=1e-5)
    assert "20 by 12 pixels; red, green, blue: whole numbers" in browser.text("#formula")


def test_images_that_a_model_makes(browser: Chromium, tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[1,3,12,20] x) => (float[1,3,12,20] y) { y = Neg(x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "negative.onnx")
    page = tmp_path / "negative.html"
    assert main([str(tmp_path / "negative.onnx"), "--target", "js", "-o", str(page)]) == 0
    browser.open(page.as_uri())
    x, y = computed(browser)
    np.testing.assert_allclose(y, -x)
    pixels = browser.run(
        "[...document.querySelector('figure canvas').getContext('2d')"
        ".getImageData(0, 0, 20, 12).data]"
    )
    wanted = 255 * (y - y.min()) / (y.max() - y.min())
    shown = np.array(pixels).reshape(-1, 4)[:, :3].T.reshape(-1)
    np.testing.assert_allclose(shown, wanted, atol=1)
    assert browser.text("figcaption").startswith("y: from ")


def test_an_image_is_dropped(browser: Chromium, image_page: str, mobilenet: Sample):
    browser.open(image_page)
    computed(browser)
    browser.run(DROP)
    x, y = computed(browser)
    wanted = (np.array([200, 40, 90]) / 255 - MEAN) / STD
    np.testing.assert_allclose(x.reshape(3, -1), np.repeat(wanted[:, None], 1024, 1), atol=1e-5)
    np.testing.assert_allclose(y, expected(mobilenet, x), rtol=1e-4, atol=1e-4)


def test_keys_do_all(browser: Chromium, image_page: str):
    browser.open(image_page)
    computed(browser)
    browser.run("document.querySelector('#file').focus()")
    browser.press("Tab")
    assert browser.run("document.activeElement.id") == "sample"
    browser.run("document.querySelector('#std').value = '0, x'")
    browser.run("document.activeElement.click()")
    browser.wait("document.body.dataset.state == 'error'")
    assert browser.text("#status") == "std needs 3 numbers"


def test_numbers_are_run(browser: Chromium, numbers_page: str, mlp: Sample):
    browser.resize(400, 800, dark=True)
    browser.open(numbers_page)
    browser.wait(DONE)
    text = json.dumps(mlp.x.tolist())
    browser.run(f"document.querySelector('#input0').value = {json.dumps(text)}")
    browser.run("document.body.dataset.state = 'waiting'")
    browser.click("#go")
    _, y = computed(browser)
    np.testing.assert_allclose(y, mlp.y.reshape(-1), rtol=1e-5, atol=1e-6)
    cells = browser.run(
        "[...document.querySelectorAll('td')].map((cell) => Number(cell.innerText))"
    )
    np.testing.assert_allclose(cells, mlp.y.reshape(-1), rtol=1e-5)
    browser.run("document.querySelector('#input0').value = '1, 2'")
    browser.click("#go")
    browser.wait("document.body.dataset.state == 'error'")
    assert browser.text("#status") == f"{mlp.name} needs {mlp.x.size} numbers, not 2"


@pytest.mark.parametrize(
    ("target", "engine"), [("wasm", "WebAssembly with vectors"), ("js", "JavaScript")]
)
def test_pages_of_one_engine(
    browser: Chromium, mlp: Sample, tmp_path: Path, target: str, engine: str
):
    page = tmp_path / "net.html"
    assert main([str(mlp.path), "--target", target, "-o", str(page)]) == 0
    browser.open(page.as_uri())
    x, y = computed(browser)
    np.testing.assert_allclose(y, expected(mlp, x), rtol=1e-5, atol=1e-6)
    assert browser.text("#status").endswith(f" ms in {engine}")
    browser.open(f"{page.as_uri()}?engine=abacus")
    browser.wait("document.body.dataset.state == 'error'")
    assert browser.text("#status") == "no such engine is in this page"


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("image", ["--mean", "1,2"], "error: --mean is '1,2', expected 3 numbers with commas"),
        ("image", ["--std", "1,0,1"], "error: --std is '1,0,1', expected 3 numbers with commas"),
        (
            "image",
            ["--labels", "{labels}"],
            "{labels}: error: there are 2 labels, one a line, of 10",
        ),
        ("image", ["--labels", "none.txt"], "none.txt: error: No such file or directory"),
        (
            "numbers",
            ["--mean", "1,2,3"],
            "error: --mean is for images, and no input of a model.onnx",
        ),
        (
            "numbers",
            ["--labels", "{labels}"],
            "error: --labels is for images that are classified; a",
        ),
    ],
)
def test_options_that_do_not_fit(
    model: str,
    arguments: list[str],
    message: str,
    mobilenet: Sample,
    mlp: Sample,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "labels.txt").write_text("one\ntwo\n")
    words = {"labels": str(tmp_path / "labels.txt")}
    path = (mobilenet if model == "image" else mlp).path
    page = str(tmp_path / "net.html")
    assert main([str(path), "-o", page, *(word.format(**words) for word in arguments)]) == 1
    assert capsys.readouterr().err.startswith(message.format(**words))
    assert not Path(page).exists()


@pytest.mark.parametrize(
    ("kind", "dtype"), [("float16", "float16"), ("float8e5m2", "float8_e5m2"), ("int4", "int4")]
)
def test_numbers_that_pages_have_not(
    kind: str, dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = f"""<ir_version: 10, opset_import: ["": 21]>
    g ({kind}[4,1] x) => ({kind}[1,4] y) {{ y = Transpose(x) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "few.onnx")
    assert main([str(tmp_path / "few.onnx"), "-o", str(tmp_path / "few.html")]) == 1
    expected = f"error: x: {dtype}[4, 1]: a page has no arrays of {dtype}\n"
    assert capsys.readouterr().err == expected
