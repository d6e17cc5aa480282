"""Runs every case through the imported graph and, where there is one, through the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numbers_cases
import onnx
import pytest
import shapes_cases
import structure_cases
from casebook import BOOK, Array, Case, Entry, judge
from gpu_threads import on_threads
from onnx_text import at_graph_level

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

assert all((numbers_cases, shapes_cases, structure_cases)), "importing them fills the book"

Runner = Callable[[Path, Mapping[str, Array]], list[Array]]


def compiled(source: Path, inputs: Mapping[str, Array]) -> list[Array]:
    """Return what the compiled model computes."""
    return list(nn_opt.compile(source).run(inputs).values())


def written(made: Case, folder: Path) -> Path:
    """Write the model into a folder of its own, with a file outside that must not be read."""
    (folder / "outside.bin").write_bytes(bytes(64))
    inner = folder / "model"
    inner.mkdir()
    for name, data in made.files.items():
        (inner / name).write_bytes(data)
    onnx.save(made.model, inner / "model.onnx")
    return inner / "model.onnx"


@pytest.mark.parametrize("run", [at_graph_level, compiled, on_threads])
@pytest.mark.parametrize("entry", BOOK, ids=lambda entry: entry.name)
def test_case(entry: Entry, run: Runner, tmp_path: Path) -> None:
    made = entry.build()
    path = written(made, tmp_path)
    needs_value = not entry.whole and run is not compiled
    words = ("must be known at compile time",) if needs_value else made.refusal
    if words:
        with pytest.raises(DiagnosticError) as refused:
            run(path, made.inputs)
        assert all(word in str(refused.value) for word in words)
    elif made.outputs or made.agrees:
        judge(made, run(path, made.inputs))
    else:
        _survives(run, path, made)


def _survives(run: Runner, path: Path, made: Case) -> None:
    with suppress(DiagnosticError):
        run(path, made.inputs)


def test_the_book_has_every_case() -> None:
    assert len(BOOK) == 36
    assert len({entry.name for entry in BOOK}) == 36
