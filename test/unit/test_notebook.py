"""What a notebook shows, by IPython itself; what a model says is text there, never markup."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest
from IPython.core.interactiveshell import InteractiveShell
from xdsl.dialects.func import FuncOp

import nn_opt
from nn_opt.notebook import LONG, register
from nn_opt.runtime.html import plan_html
from nn_opt.runtime.manifest import Region
from nn_opt.schedule.schedule import Schedule

EVIL = "<img src=x onerror=alert(1)>"
TEXT = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = graph.relu %x : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
"""
FUSED = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = graph.fused (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
    %z = graph.relu %a : tensor<4x8xf32>
    graph.yield %z : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}
"""


class Markup(HTMLParser):
    """Checks that tags are closed in order, and collects text and tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def markup(html: str) -> Markup:
    parser = Markup()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def shell() -> Iterator[Any]:
    shell: Any = InteractiveShell.instance()
    register()
    yield shell
    InteractiveShell.clear_instance()


def shown(shell: Any, thing: object) -> Markup:
    formats, _ = shell.display_formatter.format(thing)
    assert "text/html" in formats
    return markup(formats["text/html"])


def test_modules_and_operations_are_their_text(shell: Any):
    module = nn_opt.parse(TEXT)
    for thing in (module, *module.ops):
        page = shown(shell, thing)
        assert "%y = graph.relu %x : tensor<4x8xf32>" in page.text
        assert "span" in page.tags


def test_long_functions_are_folded(shell: Any):
    lines = "".join(f"  %y{k} = graph.relu %x : tensor<4x8xf32>\n" for k in range(LONG))
    function = TEXT.replace("  func.return", lines + "  func.return")
    page = shown(shell, nn_opt.parse(function + function.replace("main", "other")))
    assert page.tags.count("details") == 2
    assert f"func.func other ({LONG + 4} lines)" in page.text


def test_a_pipeline_is_its_text(shell: Any):
    assert "cse" in shown(shell, nn_opt.Pipeline("cse")).text


def test_a_schedule_is_its_script_and_its_loops(shell: Any):
    pipeline = nn_opt.Pipeline("outline-kernels,convert-graph-to-tensor,convert-tensor-to-loop")
    lowered = pipeline.run(nn_opt.parse(FUSED))
    kernels = [op for op in lowered.ops if isinstance(op, FuncOp) and "kernel" in op.attributes]
    schedule = Schedule(kernels[0])
    page = shown(shell, schedule)
    assert "sched.script" in page.text
    assert "loop.for" in page.text


def evil_model() -> onnx.ModelProto:
    values = [onnx.helper.make_tensor_value_info(name, 1, [2, 3]) for name in (EVIL, "y")]
    node = onnx.helper.make_node("Exp", [EVIL], ["y"], name=EVIL)
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])


def test_a_model_shows_tensors_kernels_and_memory(shell: Any):
    model = nn_opt.compile(evil_model(), cache=False)
    page = shown(shell, model)
    assert "y: float32[2, 3]" in page.text
    assert "1 kernels" in page.text
    assert EVIL in page.text  # as text
    assert "img" not in page.tags
    assert "temporaries" in shown(shell, model.memory).text


def test_a_model_of_unknown_sizes_is_shown_before_its_first_call(shell: Any):
    proto = evil_model()
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    model = nn_opt.compile(proto, cache=False)
    assert "kernels" not in shown(shell, model).text
    model(np.zeros((2, 3), np.float32))
    assert "kernels" in shown(shell, model).text


def test_the_picture_of_memory_is_true_to_scale():
    plan = plan_html([Region("a", 0, 50, 0, 1), Region(EVIL, 50, 50, 2, 3)], 100)
    page = markup(plan)
    assert page.tags.count("rect") == 2
    assert '<rect x="0.0" y="110.0" width="320.0" height="110.0"' in plan
    assert '<rect x="320.0" y="0.0" width="320.0" height="110.0"' in plan
    assert f"{EVIL}: 50 bytes at 50, steps 2 to 3" in page.text
