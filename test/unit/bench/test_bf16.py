"""bench.bf16: both precisions and OpenVINO in turns, on models that take milliseconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tools

from bench import bf16
from nn_opt.ir.target import host

CAN_RUN = pytest.mark.skipif(not host().has("avx512bf16"), reason="this processor lacks avx512bf16")


@CAN_RUN
def test_the_command_writes_ratios_and_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    tools.need("openvino")
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("bench.bf16.pin", lambda _threads: None)
    bf16.main(["mlp_small", "--seconds", "0.01", "--json", str(tmp_path / "bf16.json")])
    (row,) = json.loads((tmp_path / "bf16.json").read_text())
    assert row["model"] == "mlp_small"
    assert row["ratio"] == pytest.approx(row["openvino"] / row["ours"])
    assert 1e-5 < row["error"] < 1e-2
    assert 1e-5 < row["openvino_error"] < 1e-2
    assert "mlp_small" in capsys.readouterr().out


def test_unknown_models_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        bf16.parse(["resnet19"])
    assert "unknown model resnet19" in capsys.readouterr().err
