"""The site is built without a warning, asks nobody for anything, and has what pages link to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tools
from chromium import Chromium
from doc_blocks import ROOT

# What a browser fetches by itself; links are for people.
FETCHED = re.compile(r'<(?:script|img|iframe|link)[^>]*?(?:src|href)="?(https?:)?//[^>]*>')


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    tools.need("mkdocs")
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr  # links, anchors and pages without a place in `nav`
    return folder


def test_pages_fetch_nothing_from_elsewhere(site: Path):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    assert [page for page in pages if FETCHED.search(page.read_text())] == []


def test_styles_fetch_nothing_from_elsewhere(site: Path):
    styles = [path.read_text() for path in site.rglob("*.css")]
    assert styles
    assert not any(re.search(r"url\(\"?(?:https?:)?//|@import", text) for text in styles)


def test_code_is_coloured_as_ir(site: Path):
    html = (site / "read-ir.html").read_text()
    assert '<span class="nv">%x</span>' in html
    assert '<span class="kt">tensor</span>' in html


def test_files_that_pages_link_to_are_pages(site: Path):
    assert "source/passes/fuse_ops.py.html" in (site / "passes.html").read_text()
    shown = (site / "source" / "passes" / "fuse_ops.py.html").read_text()
    assert "FuseOpsPass" in shown


def test_explorer_has_a_page_to_try(site: Path):
    assert 'href="explored-two_layers.html"' in (site / "explorer.html").read_text()
    assert (site / "explored-two_layers.html").stat().st_size > 50_000


def test_what_is_not_run_says_why(site: Path):
    assert "Not run by the tests: needs TVM" in (site / "from-tvm.html").read_text()


def test_search_finds_an_op(site: Path):
    assert "graph.conv_transpose" in (site / "search" / "search_index.json").read_text()


@tools.needs("browser")
def test_pages_and_search_work_in_a_browser_without_a_server(site: Path):
    with Chromium(Path(tools.need("browser"))) as browser:
        browser.open((site / "read-ir.html").as_uri())
        assert browser.text("h1").startswith("Read IR at every level")
        assert browser.count("span.nv") > 50
        browser.open(f"{(site / 'index.html').as_uri()}?q=transposed+convolution")
        browser.wait("document.querySelectorAll('.md-search-result__item').length > 0")
        assert "graph.conv_transpose" in browser.text(".md-search-result__list")
        browser.open((site / "explored-two_layers.html").as_uri())
        assert "two_layers.mlir" in browser.text("header")
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
