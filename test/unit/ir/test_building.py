"""Threads that build or lower IR at once do not see each other."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.ir import Block

import nn_opt

TEXT = """func.func @main(%x: tensor<2x8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %c = graph.add %x, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %d = graph.relu %c : tensor<2x8xf32>
  func.return %d : tensor<2x8xf32>
}
"""


def test_implicit_builders_of_two_threads_overlap():
    first, second = Block(), Block()
    entered, left = threading.Event(), threading.Event()

    def other() -> None:
        with ImplicitBuilder(second):
            entered.set()
            left.wait()
            arith.ConstantOp.from_int_and_width(1, 32)

    thread = threading.Thread(target=other)
    with ImplicitBuilder(first):
        thread.start()
        entered.wait()
    left.set()
    thread.join()
    with ImplicitBuilder(first):
        arith.ConstantOp.from_int_and_width(2, 32)
    arith.ConstantOp.from_int_and_width(3, 32)
    assert (len(first.ops), len(second.ops)) == (1, 1)


def test_pipelines_run_in_threads():
    module = nn_opt.parse(TEXT)
    pipeline = nn_opt.Pipeline("optimize-graph,lower-to-loops")
    expected = str(pipeline.run(module))

    def lower(number: int) -> str:
        return str(pipeline.run(module)) if number else expected

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lower, range(12)))
    assert set(results) == {expected}


def test_an_import_inside_of_a_builder_changes_nothing():
    code = (
        "from xdsl.builder import ImplicitBuilder\n"
        "from xdsl.dialects import arith\n"
        "from xdsl.ir import Block\n"
        "block = Block()\n"
        "for _ in range(2):\n"
        "    with ImplicitBuilder(block):\n"
        "        import nn_opt.ir.parsing\n"
        "        arith.ConstantOp.from_int_and_width(1, 32)\n"
        "    arith.ConstantOp.from_int_and_width(1, 32)\n"
        "assert len(block.ops) == 2\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
