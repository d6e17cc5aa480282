"""Generated pages are what the code says now, and the written ones name files that exist."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def generator() -> ModuleType:
    spec = spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", generator().PAGES)
def test_generated_page_is_up_to_date(page: str):
    text = generator().PAGES[page]()
    assert (ROOT / "docs" / page).read_text() == text, "run: python docs/generate.py"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_page_names_only_files_that_exist(page: str):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`([\w./-]+/(?:[\w.-]+\.(?:py|md|mlir|ll))?)`", text))
    named |= set(re.findall(r"\]\(([\w./-]+\.md)\)", text))
    folder = (ROOT / page).parent
    missing = [
        name for name in named if not (ROOT / name).exists() and not (folder / name).exists()
    ]
    assert missing == []
