"""The benchmark of text does all its steps with each tool and reads mlir-opt's report."""

from bench.text import MLIR_TIME, STEPS, chain, measure


def test_every_step_is_measured():
    figures = measure(20, 1)
    assert set(STEPS) == set(figures["nn-opt"]) == set(figures["xdsl-opt"])
    assert all(value > 0 for row in figures.values() for value in row.values())


def test_chain():
    assert chain(3).count("arith.addi") == 3


def test_report_of_mlir_opt():
    report = "    0.2409 (100.0%)  root\n    0.0957 ( 39.7%)  Parser\n    0.0348 ( 14.4%)  CSE\n"
    assert MLIR_TIME.findall(report)[1:] == [("0.0957", "Parser"), ("0.0348", "CSE")]
