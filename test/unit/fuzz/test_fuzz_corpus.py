"""What the fuzzer found once is refused in words today; seeds are taken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fuzz.edits import edited
from fuzz.targets import CORPUS, TARGETS, kept

FILES = [
    (path.parent.name, path.name)
    for path in sorted(CORPUS.glob("*/*"))
    if path.parent.name in TARGETS
]
SEEDS = [(name, file) for name, file in FILES if "-" not in file and name != "edits"]


@pytest.mark.parametrize(("name", "file"), FILES)
def test_nothing_but_diagnostics(name: str, file: str):
    TARGETS[name].run((CORPUS / name / file).read_bytes())


@pytest.mark.parametrize(("name", "file"), SEEDS)
def test_seeds_are_right(name: str, file: str):
    assert TARGETS[name].run((CORPUS / name / file).read_bytes())


def chosen(*numbers: int) -> bytes:
    return bytes(number % 256 for number in numbers)


def test_edits_change_models():
    models = list(kept("onnx")())
    changed = {edited(models, chosen(k, 1, 3 * k, 5 * k)) for k in range(50)}
    assert len(changed) > 25
    taken = [TARGETS["edits"].run(chosen(k, 0, 2 * k, 5 * k)) for k in range(60)]
    assert 0 < sum(taken) < 60


def test_a_fuzzer_that_is_not_installed(monkeypatch):
    from fuzz import child

    monkeypatch.setitem(sys.modules, "atheris", None)
    monkeypatch.setattr(sys, "argv", ["fuzz.child", "text"])
    with pytest.raises(SystemExit, match="error: the package 'atheris' is not installed"):
        child.main()


def test_findings_are_kept_once_and_short(tmp_path: Path, monkeypatch):
    from fuzz import child

    monkeypatch.setattr(child, "FINDINGS", tmp_path)
    for data in (b"longer", b"short", b"the longest"):
        child.save("text", data, ZeroDivisionError("here"))
    (kept_file,) = (path for path in tmp_path.iterdir() if path.suffix != ".txt")
    assert kept_file.read_bytes() == b"short"
