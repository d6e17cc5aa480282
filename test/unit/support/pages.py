"""What tests of the explorer share: a module, what its page carries, ways about the page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

from chromium import Chromium

import nn_opt

ATTACK = "</script><img src=x onerror=alert(1)>"
TEXT = f"""\
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x8x8xf32> attributes {{arg_names = ["{ATTACK}", "w"]}} {{
  %0 = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 {{note = "{ATTACK}"}} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x8x8xf32>
  %1 = graph.relu %0 : tensor<1x8x8x8xf32> loc("{ATTACK}")
  %2 = graph.relu %1 : tensor<1x8x8x8xf32>
  func.return %2 : tensor<1x8x8x8xf32>
}}
"""  # noqa: E501
PLAIN = """\
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x8x8xf32> {
  %0 = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x8x8xf32>
  %1 = graph.relu %0 : tensor<1x8x8x8xf32>
  %2 = graph.relu %1 : tensor<1x8x8x8xf32>
  %3 = graph.exp %x : tensor<1x3x8x8xf32>
  func.return %2 : tensor<1x8x8x8xf32>
}
"""  # noqa: E501


def data_of(page: str) -> dict[str, Any]:
    """Return the data of a page."""
    match = re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert match is not None
    return json.loads(zlib.decompress(base64.b64decode(match[1])))


def pass_number(browser: Chromium, name: str) -> str:
    """Return the number of the first pass of a name."""
    names = browser.run(
        "[...document.querySelectorAll('.pass')].map(p => [p.querySelector('.name').textContent,"
        " p.dataset.pass])"
    )
    return next(number for title, number in names if title == name)


def go(browser: Chromium, address: str) -> None:
    browser.run(f"location.hash = {address!r}")
    browser.run("new Promise(done => setTimeout(done, 30))")
    browser.settle()


def go_to_pass(browser: Chromium, name: str, rest: str = "view=ir") -> None:
    go(browser, f"pass={pass_number(browser, name)}&{rest}")


def explored(text: str, pipeline: str) -> dict[str, Any]:
    found = nn_opt.explore(text, pipeline)
    assert found.error is None
    return data_of(found.html)


def lines_of(data: dict[str, Any], snapshot: int) -> list[str]:
    """Return the line of each op of a snapshot, in order."""
    lines: list[str] = []
    for item in data["snapshots"][snapshot]:
        part, at = data["parts"][item["part"]], 0
        texts = part["text"].split("\n")
        for step in part["lines"]:
            at += step
            lines.append(texts[at].strip())
    return lines
