"""The benchmark of text does all its steps with each tool and reads mlir-opt's report."""

import pytest
from rich.console import Console

from bench.programs import OPS, WEIGHTS, chain
from bench.text import MLIR_TIME, Figures, measure, process_table, table
from bench.text_steps import STEPS
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import verify


def test_every_step_is_measured():
    figures = measure(chain(20), 1)
    assert set(STEPS) == set(figures["nn-opt"]) == set(figures["xdsl-opt"])
    assert all(value > 0 for row in figures.values() for value in row.values())


def test_chain():
    assert chain(3).count("arith.addi") == 3


def test_report_of_mlir_opt():
    report = "    0.2409 (100.0%)  root\n    0.0957 ( 39.7%)  Parser\n    0.0348 ( 14.4%)  CSE\n"
    assert MLIR_TIME.findall(report)[1:] == [("0.0957", "Parser"), ("0.0348", "CSE")]


@pytest.mark.parametrize("name", [*OPS, *WEIGHTS])
def test_programs_are_valid(name: str):
    text = {**OPS, **WEIGHTS}[name](80)
    module = parse_module(make_context(), text, "m.mlir")
    verify(module)
    assert sum(1 for _ in module.walk()) >= (60 if name in OPS else 4)


def test_growth_and_ratios_are_shown():
    tools = ("nn-opt", "xdsl-opt")
    quick: Figures = {tool: {step: (k + 1) / 500 for step in STEPS} for k, tool in enumerate(tools)}
    slow: Figures = {tool: {step: (k + 1) / 50 for step in STEPS} for k, tool in enumerate(tools)}
    slow["nn-opt"]["dce"] = slow["xdsl-opt"]["dce"] = 0.0001
    console = Console(width=120, record=True)
    console.print(table("chain", 1000, slow, quick))
    lines = [line for line in console.export_text().splitlines() if line.startswith("│")]
    rows = {line.split()[1]: line.split()[3::2] for line in lines}
    assert rows["parse"] == ["50", "25", "2.0x", "10.0x", "10.0x"]
    assert rows["dce"] == ["-", "-", "-", "0.1x", "0.0x"]


def test_processes_are_measured():
    console = Console(width=120, record=True)
    console.print(process_table({"tiny": chain(1)}, 1, 1))
    assert "tiny" in console.export_text()
