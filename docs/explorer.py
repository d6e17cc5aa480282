"""Takes the picture of explorer.md: the page of a real network, in the browser of `make browser`.

python docs/explorer.py
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import nn_opt

FOLDER = Path(__file__).resolve().parent
SIZE = (1440, 900)
# An op of the first matmul, in the loops, and what became of it.
ADDRESS = "view=code&fn=matmul_add_gelu_0&tab=trail&pass=35&at=36&line=matmul_add_gelu_0::18"


def main() -> None:
    sys.path[:0] = [str(FOLDER.parent / "test" / "unit" / "support")]
    from chromium import Chromium, find_browser

    program, package = find_browser(), find_spec("magika")
    if program is None or package is None or package.origin is None:
        sys.exit("error: needs a browser and a model\n  hint: make browser; pip install magika")
    model = next((Path(package.origin).parent / "models").glob("*/model.onnx"))
    with tempfile.TemporaryDirectory() as folder, Chromium(program, *SIZE) as browser:
        page = Path(folder, "page.html")
        nn_opt.explore(model, path=page, dims={"unk__214": 1})
        browser.resize(*SIZE)
        browser.open(f"{page.as_uri()}#{ADDRESS}")
        browser.run("document.querySelector('header .title').textContent = 'magika.onnx'")
        browser.click(".segments button", 1)
        (FOLDER / "explorer.png").write_bytes(browser.picture())


if __name__ == "__main__":
    main()
