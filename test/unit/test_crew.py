"""Helpers give the code that this process would make, and say what is wrong as it would."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import nn_opt
from bench.models import build_small, sample_inputs
from nn_opt import crew
from nn_opt.crew import Helper, HelperDied
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.remarks import collect_remarks
from nn_opt.pipelines import expand, run_passes

KERNEL = """
func.func private @relu_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kernel} {
  %y = graph.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
# A size that no one has stated, which the first conversion refuses.
UNKNOWN = KERNEL.replace("tensor<4xf32>", "tensor<?xf32>")


def use_cores(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let compiling take a process to have some cores, and every model to be large."""
    monkeypatch.setattr(crew, "available_threads", lambda: count)
    monkeypatch.setattr(crew, "WORTH", 1)


def started(monkeypatch: pytest.MonkeyPatch) -> list[Helper]:
    """Return the list that each helper joins when it is started."""
    helpers: list[Helper] = []
    start = Helper.__init__

    def note(helper: Helper, *arguments: str) -> None:
        start(helper, *arguments)
        helpers.append(helper)

    monkeypatch.setattr(Helper, "__init__", note)
    return helpers


def kernel(text: str) -> ModuleOp:
    return parse_module(make_context(), text, "kernel.mlir")


@pytest.mark.parametrize("name", ["resnet18", "bert_tiny", "lstm"])
def test_models_made_by_several_processes_give_the_same_bits(name, monkeypatch):
    proto, outputs = build_small(name), []
    helpers = started(monkeypatch)
    for cores in (1, 3):
        use_cores(cores, monkeypatch)
        assert not helpers
        model = nn_opt.compile(proto, cache=False, threads=1)
        outputs.append(list(model.run(sample_inputs(proto)).values()))
    assert len(helpers) == 2
    assert all(helper.process.returncode is not None for helper in helpers)
    for one, two in zip(*outputs, strict=True):
        np.testing.assert_array_equal(one, two)


def test_small_models_need_no_help(monkeypatch):
    helpers = started(monkeypatch)
    monkeypatch.setattr(crew, "available_threads", lambda: 8)
    nn_opt.compile(build_small("mlp"), cache=False)
    assert not helpers


def test_nobody_helps_where_remarks_are_collected_or_python_is_part_of_something(monkeypatch):
    assert crew.can_help()
    with collect_remarks():
        assert not crew.can_help()
    monkeypatch.setattr(sys, "executable", "/opt/studio/bin/studio")
    assert not crew.can_help()


def test_a_module_of_several_objects_comes_out_of_the_cache(monkeypatch, tmp_path):
    use_cores(2, monkeypatch)
    proto = build_small("resnet18")
    first = nn_opt.compile(proto, cache=tmp_path, threads=1).run(sample_inputs(proto))
    helpers = started(monkeypatch)
    second = nn_opt.compile(proto, cache=tmp_path, threads=1).run(sample_inputs(proto))
    assert not helpers
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_a_fault_in_a_helper_is_the_one_of_this_process():
    here = kernel(UNKNOWN)
    with pytest.raises(PassFailedException) as expected:
        run_passes(make_context(), here, expand("convert-graph-to-tensor"))
    helper = Helper("cpu", "")
    with pytest.raises(PassFailedException) as caught:
        helper.lower(deque([kernel(UNKNOWN)]))
    helper.close()
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("debug_info", [False, True])
def test_a_helper_tells_debuggers_as_this_process_does(debug_info):
    helper = Helper("cpu", "", debug_info)
    (declared,) = helper.lower(deque([kernel(KERNEL)]))
    code = helper.emit({})
    helper.close()
    assert str(declared.location) == 'loc("kernel.mlir":2:1)'
    assert (b".debug_line" in code) == (b"kernel.mlir" in code) == debug_info


def test_a_helper_that_dies_is_noticed():
    helper = Helper("cpu", "")
    os.kill(helper.process.pid, signal.SIGKILL)
    with pytest.raises(HelperDied, match="ended early"):
        helper.lower(deque([kernel(KERNEL)]))
    helper.close()


def test_no_process_to_be_had_is_no_fault(monkeypatch):
    use_cores(2, monkeypatch)

    def refuse(*arguments: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(Helper, "__init__", refuse)
    proto = build_small("resnet18")
    assert nn_opt.compile(proto, cache=False).run(sample_inputs(proto))


def test_names_of_nodes_may_be_in_any_script(monkeypatch):
    proto = build_small("resnet18")
    for number, node in enumerate(proto.graph.node):
        node.name = f"größe/号 {number}"
    helpers = started(monkeypatch)
    use_cores(2, monkeypatch)
    model = nn_opt.compile(proto, cache=False, threads=1)
    assert len(helpers) == 1
    assert model.kernels[-1].nodes[-1].startswith("größe/号 ")
