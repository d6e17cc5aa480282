"""A browser, and pages for it to show; tests that take it end without errors of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tools
from chromium import Chromium
from pages import TEXT

import nn_opt
from bench.models import SMALL

WIDE = (1440, 900)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Run that of `make browser`, of the machine, or the one that NN_OPT_BROWSER names."""
    with Chromium(Path(tools.need("browser"))) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """Give out the browser; then no error, dialog or request for anything but pages was seen."""
    chromium.problems.clear()
    chromium.requests.clear()
    chromium.resize(*WIDE)
    yield chromium
    assert chromium.problems == []
    inside = ("data:", "about:")
    asked = [url for url in chromium.requests if not url.startswith(inside)]
    assert [url for url in asked if not url.split("#")[0].endswith((".html", "/"))] == []


@pytest.fixture(scope="session")
def text_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page of a file of IR."""
    folder = tmp_path_factory.mktemp("text")
    source = folder / "attack.mlir"
    source.write_text(TEXT)
    explored = nn_opt.explore(source, "compile", folder / "page.html")
    assert explored.error is None
    return (folder / "page.html").as_uri()


@pytest.fixture(scope="session")
def model_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page of a model."""
    folder = tmp_path_factory.mktemp("model")
    model = folder / "squeezenet.onnx"
    model.write_bytes(SMALL["squeezenet1_1"]("squeezenet1_1").SerializeToString())
    explored = nn_opt.explore(model, "compile", folder / "page.html")
    assert explored.error is None
    return (folder / "page.html").as_uri()
