"""Imports point one way: from the driver down to the IR core, never sideways or up."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = {
    "ir": 0,
    "runtime": 0,
    "dialects": 1,
    "reference": 2,
    "frontends": 3,
    "schedule": 3,
    "passes": 4,
    "conversion": 4,
    "backends": 4,
}
TOP = 5  # nn_opt/*.py and nn_opt/driver


def sources() -> Iterator[Path]:
    """Yield the files of the package; nn_opt/ holds links to the other folders."""
    for folder in ("nn_opt", *(name for name in LAYERS if name != "ir")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def home(parts: tuple[str, ...]) -> str:
    """Return the layer that a dotted name or path inside nn_opt belongs to."""
    return parts[0] if parts and parts[0] in LAYERS else "top"


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and full name of each nn_opt module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "nn_opt" or name.startswith("nn_opt."):
                yield node.lineno, name


def violations(path: Path) -> Iterator[str]:
    inside = path.relative_to(ROOT / "nn_opt" if path.is_relative_to(ROOT / "nn_opt") else ROOT)
    layer = home(inside.parts)
    for line, name in imported(path):
        other = home(tuple(name.split(".")[1:]))
        if name in ("nn_opt", "nn_opt.__version__") or other == layer:
            continue
        if LAYERS.get(other, TOP) >= LAYERS.get(layer, TOP):
            yield f"{path.relative_to(ROOT)}:{line}: {layer} imports {name}"


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path):
    assert not list(violations(path))


def test_runtime_imports_no_compiler():
    for path in (ROOT / "runtime").rglob("*.py"):
        for line, name in imported(path):
            assert home(tuple(name.split(".")[1:])) == "runtime" or name == "nn_opt.__version__", (
                f"{path.relative_to(ROOT)}:{line}: runtime imports {name}"
            )


def test_a_violation_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    wrong = tmp_path / "dialects" / "wrong.py"
    wrong.parent.mkdir()
    wrong.write_text("from nn_opt.passes.cse import CsePass\nfrom nn_opt.ir import types\n")
    assert list(violations(wrong)) == [
        "dialects/wrong.py:1: dialects imports nn_opt.passes.cse.CsePass"
    ]
