"""The same bits: for any number of threads always, for any width of vectors when asked."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import NDArray

import nn_opt
from bench.models import build_small, sample_inputs
from nn_opt.ir.target import TARGETS, host
from nn_opt.schedule import defaults

MODELS = ("resnet18", "mobilenet_v2", "squeezenet1_1", "bert_tiny", "gpt_small", "lstm", "mlp")
SERIAL = ("lstm", "mlp")  # small, they are single rows: no loop for threads to share
KIND = host().triple.split("-")[0]
WIDTHS = [  # of this machine: 64, 32 and 16 bytes a vector where it has AVX-512
    name
    for name, target in TARGETS.items()
    if target.triple.startswith(KIND) and target.vector_bytes <= host().vector_bytes
]


def bits(outputs: dict[str, NDArray[Any]]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in outputs.items()}


@pytest.mark.parametrize("name", [name for name in MODELS if name not in SERIAL])
def test_threads_do_not_change_a_bit(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(defaults, "PARALLEL_WORK", 0)  # small as they are, split all loops
    proto = build_small(name)
    feeds = sample_inputs(proto)
    model = nn_opt.compile(proto, cache=False)
    one = bits(model.run(feeds, threads=1))
    assert "nn_parallel" in model.ir("llvm-ir")
    for threads in (2, 3, 7):
        for _ in range(5):  # which thread takes which share differs from run to run
            assert bits(model.run(feeds, threads=threads)) == one


@pytest.mark.skipif(len(WIDTHS) < 2, reason="this machine has vectors of one width")
@pytest.mark.parametrize("name", MODELS)
def test_deterministic_results_are_the_same_at_any_width(name: str):
    proto = build_small(name)
    feeds = sample_inputs(proto)
    results = [
        bits(nn_opt.compile(proto, target=target, deterministic=True, cache=False).run(feeds))
        for target in WIDTHS
    ]
    assert all(result == results[0] for result in results)


@pytest.mark.skipif(len(WIDTHS) < 2, reason="this machine has vectors of one width")
@pytest.mark.parametrize("kind", ["force2", "force4"])
def test_winograd_is_deterministic_too(kind: str):
    proto = build_small("resnet18")
    feeds = sample_inputs(proto)
    settings: dict[str, Any] = {"winograd": kind, "deterministic": True, "cache": False}
    results = [
        bits(nn_opt.compile(proto, target=target, **settings).run(feeds)) for target in WIDTHS
    ]
    assert all(result == results[0] for result in results)


def test_deterministic_code_is_planned_alike_for_all_machines():
    texts = [
        nn_opt.compile(build_small("bert_tiny"), target=t, deterministic=True, cache=False).ir(
            "llvm"
        )
        for t in WIDTHS[:2]
    ]
    assert len(set(texts)) == 1


def test_deterministic_has_entries_of_its_own_in_the_cache(tmp_path):
    proto = build_small("mlp")
    for fixed in (False, True):
        nn_opt.compile(proto, deterministic=fixed, cache=tmp_path)
    assert len(list(tmp_path.glob("*.nnopt"))) == 4  # a signature and a program each
