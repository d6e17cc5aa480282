"""The benchmark of WebAssembly and JavaScript: what peers are given, and how calls are timed."""

from __future__ import annotations

from pathlib import Path

import pytest
import tools

from bench import web
from bench.models import build_small


def test_a_network_becomes_layers():
    program = web.layers_of(build_small("mobilenet_v2"))
    layers = program["layers"]
    kinds = [layer["kind"] for layer in layers]
    assert kinds[0] == "conv"
    assert kinds[-2:] == ["pool", "dense"]
    assert layers[0]["shape"][:3] == [3, 3, 3]
    assert layers[0]["activation"] == "relu6"
    assert all(layer["shape"][3] == 1 for layer in layers if layer["kind"] == "depthwise")
    for k, layer in enumerate(layers):
        assert all(source <= k for source in layer["from"])
        assert len(layer["from"]) == (2 if layer["kind"] == "add" else 1)


def test_ours_are_timed_in_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    tools.need("node")
    tools.need("wasm-ld")
    monkeypatch.setattr(web, "PEERS", tmp_path)
    task = {"name": "small", "turns": 2, "calls": 3, "subjects": web.ours(web.matmul(16), "small")}
    record = web.record_of(web.run([task]), [task])
    assert set(record["milliseconds"]["small"]) == set(web.OURS)
    assert record["code_bytes"]["small"]["nn-opt wasm"] < 4000


def test_the_table_says_who_is_how_much_slower(capsys: pytest.CaptureFixture[str]):
    medians = {"nn-opt wasm": 8.0, "onnxruntime-web": 12.0}
    web.print_table({"milliseconds": {"matmul 512": medians}})
    said = capsys.readouterr().out
    assert "33.6" in said
    assert "1.50" in said
