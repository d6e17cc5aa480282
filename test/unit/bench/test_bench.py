"""What `make bench` measures and writes; on models that take milliseconds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import tools

from bench import __main__ as command
from bench.cases import NAMES, default_names, prepare
from bench.compile_time import profile
from bench.feeds import load_feeds, save_feeds
from bench.figures import relative_error
from bench.models import MODELS
from bench.operators import CONTRACTIONS, INSIDE, LAYERS, kernel_of, model_of
from bench.peak import Peak
from bench.report import installed_mb, version_of
from bench.subjects import LOADS, OURS, REFERENCE, installed
from bench.sweep import SWEEP
from bench.timing import LEAST_ROUNDS, take_turns
from nn_opt.runtime.manifest import Kernel
from nn_opt.runtime.profile import KernelTime


def test_calls_take_turns_and_the_median_ignores_a_slow_one():
    order: list[str] = []
    times = take_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 0)
    assert order == ["a", "b"] * (1 + LEAST_ROUNDS)
    assert times.rounds == LEAST_ROUNDS
    assert set(times.medians) == {"a", "b"}


def test_the_first_call_of_a_burst_does_not_count():
    calls: list[int] = []

    def slow_at_first() -> None:
        calls.append(1)
        if len(calls) % 3 == 2:  # the warm-up call, then bursts of three
            sum(range(2_000_000))

    slow = take_turns({"a": slow_at_first}, 0, burst=3).medians["a"]
    assert slow < 1.0, "milliseconds: the slow calls were left out"


def test_relative_error_is_of_the_worst_output():
    exact = [np.array([3.0, 4.0]), np.array([1.0, 0.0])]
    got = [np.array([3.0, 4.0]), np.array([1.0, 0.5])]
    assert relative_error(got, exact) == pytest.approx(0.5)
    assert relative_error([np.array([2])], [np.array([0])]) == pytest.approx(2.0)


def test_inputs_of_any_name_survive_a_file(tmp_path: Path):
    feeds = {"serving/input:0": np.arange(3), "file": np.ones((2, 2), np.float32)}
    save_feeds(tmp_path / "feeds.npz", feeds)
    back = load_feeds(tmp_path / "feeds.npz")
    assert list(back) == list(feeds)
    assert all(np.array_equal(back[name], feeds[name]) for name in feeds)


def test_default_models_are_the_whole_zoo():
    assert set(MODELS) <= set(default_names()) <= set(NAMES)


def test_nn_opt_is_measured_first():
    assert installed()[0] == OURS


def test_sizes_count_files_of_what_is_installed():
    assert 10 < installed_mb("onnxruntime") < 1000
    assert version_of("no-such-distribution") == "not installed"


def test_every_subject_gives_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path))
    case = prepare("mlp_small", tmp_path)
    feeds = case.feeds()
    answers = {name: LOADS[name](case.path, 1)(feeds) for name in installed()}
    for answer in answers.values():
        assert relative_error(answer, answers[REFERENCE]) < 1e-5  # sums in another order


def test_the_command_writes_json_and_a_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    tools.need("matplotlib")
    monkeypatch.setattr(command, "pin", lambda threads: None)  # the other tests keep their cores
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path))
    command.main(["mlp_small", "--seconds", "0", "--output", str(tmp_path)])
    summary = json.loads((tmp_path / "bench.json").read_text())
    (row,) = summary["models"]
    assert row["model"] == "mlp_small"
    assert row["relative_error"] < 1e-5  # float32 sums in another order
    assert row["ratios"]["onnxruntime"] == pytest.approx(
        row["milliseconds"]["onnxruntime"] / row["milliseconds"][OURS]
    )
    assert 0 < row["warm_seconds"] < row["cold"][OURS]["seconds"]
    assert 20 < row["cold"][OURS]["peak_mb"] < 1000
    start = row["cold"][OURS]
    assert 0 < start["load_seconds"] + start["first_call_ms"] / 1e3 < start["seconds"]
    assert (tmp_path / "bench.svg").read_text().startswith("<?xml")
    assert "mlp_small" in capsys.readouterr().out


def test_phases_of_compiling_add_up(tmp_path: Path):
    seconds = profile(prepare("mlp_small", tmp_path), tmp_path / "cache")
    phases = list(seconds)
    assert phases[0] == "import the compiler"
    assert phases[-1] == "load"
    assert "convert-loop-to-llvm" in phases
    assert all(taken >= 0 for taken in seconds.values())
    assert len(list((tmp_path / "cache").glob("*.nnopt"))) == 1


def test_unknown_models_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        command.main(["no_such_model"])
    assert "unknown model no_such_model" in capsys.readouterr().err


def test_every_layer_of_the_operator_table_is_one_node():
    for name in LAYERS:
        nodes = model_of(name).graph.node
        assert len(nodes) == (3 if name.endswith(INSIDE) else 1), name
    assert "matmul 1024x1024x1024" in CONTRACTIONS


@pytest.mark.parametrize("name", SWEEP)
def test_layers_of_odd_sizes_have_the_shapes_that_they_state(name: str):
    model = model_of(name)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    assert inferred.graph.output == model.graph.output


def test_a_layer_in_a_network_is_its_second_convolution():
    first, second = (
        KernelTime(Kernel(f"conv_{k}", (f"/conv_{k}",), flops), 1e-6)
        for k, flops in enumerate((200, 100))
    )
    assert kernel_of(f"depthwise 7x7x32{INSIDE}", [first, second]) is second
    assert kernel_of("depthwise 7x7x32", [first, second]) is first


def test_the_peak_is_that_of_a_processor():
    assert 1 < Peak().gflops() < 1000
