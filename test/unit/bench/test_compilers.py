"""`python -m bench.compilers`: workers that answer, fail or hang, and the tables made of them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bench import compilers, worker
from bench.cases import Case, prepare
from bench.compilers import Row, start, start_table, table, take_turns
from bench.subjects import OURS, REFERENCE
from bench.worker import Failure, Ready, Worker


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return prepare("mlp_small", tmp_path)


def test_a_worker_calls_when_it_is_told_to(case: Case, tmp_path: Path):
    running = Worker(REFERENCE, case, 1, tmp_path)
    try:
        ready, outputs = running.ready(60)
        assert ready.cpu_seconds > 0
        assert 20 < ready.peak_mb < 1000
        assert [array.dtype for array in outputs] == [np.float32]
        assert 0 < running.call(3, 60) < 1000
    finally:
        running.close()
    assert running.process.returncode is not None


def test_the_reason_of_a_failure_is_one_line(case: Case, tmp_path: Path):
    case.path.write_bytes(b"no model")
    running = Worker(REFERENCE, case, 1, tmp_path)
    with pytest.raises(Failure, match="rror") as caught:
        running.ready(60)
    assert "\n" not in str(caught.value)
    running.close()


def test_who_does_not_answer_is_cut_off(case: Case, tmp_path: Path):
    running = Worker(REFERENCE, case, 1, tmp_path)
    with pytest.raises(Failure, match="no answer within 0 s"):
        running.ready(0)
    running.close()
    assert running.process.returncode == -9


def test_a_wrong_answer_is_a_failure(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compilers, "relative_error", lambda got, want: 0.5)
    row = Row("mlp_small")
    assert start(case, [OURS], 1, tmp_path, row) == []
    assert row.failures == {OURS: "wrong results: relative error 5.0e-01"}


def test_turns_give_medians(case: Case, tmp_path: Path):
    row = Row("mlp_small")
    workers = start(case, [OURS, REFERENCE], 1, tmp_path, row)
    take_turns(workers, 0.01, row)
    for running in workers:
        running.close()
    assert set(row.milliseconds) == {OURS, REFERENCE}
    assert row.ratio(OURS) == 1
    assert row.relative_errors[OURS] < 1e-5


def test_tables_say_why_a_cell_is_empty():
    row = Row("net", {OURS: 2.0, "iree": 5.0}, failures={"tvm": "no such operator"})
    row.start = {OURS: Ready(1.25, 3.0, 99.6)}
    names = [OURS, "iree", "tvm"]
    lines = table([row], names).splitlines()
    assert lines[2] == "| net | 2 | 5 (2.50) | - [1] |"
    assert lines[-1].strip() == "[1] tvm: no such operator"
    assert start_table([row], names).splitlines()[-1] == "| net | 1.2 s, 100 MB | - | - |"


def test_the_command_writes_json_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(compilers, "pin", lambda threads: None)  # the other tests keep their cores
    monkeypatch.setattr(compilers, "subjects", lambda: [OURS])
    compilers.main(["mlp_small", "--seconds", "0.01", "--output", str(tmp_path)])
    (row,) = json.loads((tmp_path / "bench-compilers.json").read_text())["models"]
    assert row["milliseconds"][OURS] > 0
    assert "| mlp_small |" in (tmp_path / "bench-compilers.md").read_text()
    assert "mlp_small" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("torch") is None, reason="not installed: torch")
def test_pytorch_models_compute_the_same(tmp_path: Path):
    from bench.compiler_peers import load_eager
    from bench.figures import relative_error
    from bench.models import SMALL
    from bench.subjects import LOADS

    for name in SMALL:
        case = prepare(f"{name}_small", tmp_path)
        expected = LOADS[REFERENCE](case.path, 1)(case.feeds())
        assert relative_error(load_eager(case.path, 1)(case.feeds()), expected) < 1e-5, name


def test_every_compiler_has_a_size_and_a_module():
    from bench.compiler_peers import MODULES, PEERS
    from bench.subjects import DISTRIBUTIONS

    assert set(PEERS) == set(MODULES)
    assert set(PEERS) <= set(DISTRIBUTIONS)
    assert worker.CACHES[0] == "NN_OPT_CACHE"
