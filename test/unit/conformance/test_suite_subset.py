"""Some of ONNX's tests for each operator, and what docs/conformance.json says of all of them."""

from __future__ import annotations

import os
import unittest
from importlib.metadata import version

import pytest
from onnx.backend.test import BackendTest
from subset_of_suite import AGAIN, names

import nn_opt.onnx_backend
from conformance import isolated, record
from conformance.cases import all_cases
from conformance.groups import GROUPS, is_core
from conformance.judge import NAMES_NODE, run_case, warm_up

RESULTS, VERSIONS = record.read()
TOTALS = record.totals(RESULTS)


def test_subset():
    """One test for all of them: their making takes longer than a few of them do."""
    warm_up()
    jobs = min(2, os.cpu_count() or 1)
    found = dict(isolated.run_all(names(RESULTS), run_case, jobs, 300))
    better = {name: ["pass", RESULTS[name]["status"]] for name in found}  # than recorded, or equal
    worse = {n: result for n, result in found.items() if result["status"] not in better[n]}
    assert worse == {}
    said = [r["message"] for r in found.values() if r["status"] == "unsupported"]
    assert [text for text in said if not NAMES_NODE.search(text)] == []


def test_the_record_is_of_all_tests():
    assert set(AGAIN) <= RESULTS.keys()
    if VERSIONS["onnx"] == version("onnx"):
        assert list(RESULTS) == list(all_cases())


@pytest.mark.parametrize(
    ("group", "least"),
    [("all", 2022), ("CORE", 910), ("node, function bodies", 476), ("simple", 21)],
)
def test_as_many_pass(group: str, least: int):
    assert TOTALS[group]["pass"] >= least


@pytest.mark.parametrize("group", ["REAL-OPS", "pytorch-operator", "pytorch-converted", "light"])
def test_all_pass(group: str):
    assert set(TOTALS[group]) == {"pass"}


def test_none_crashes_or_hangs():
    assert record.names_with(RESULTS, {"crash", "hang"}) == []


def test_what_is_unsupported_is_named():
    unsupported = record.names_with(RESULTS, {"unsupported"})
    wrong = [name for name in unsupported if not NAMES_NODE.search(RESULTS[name]["message"])]
    assert wrong == []


def test_groups():
    facts = [record.facts_of(name, result) for name, result in RESULTS.items()]
    assert len(facts) == sum(GROUPS["all"](fact) for fact in facts)
    parts = ("node, operators", "node, function bodies", "simple", "light")
    parts += ("pytorch-operator", "pytorch-converted")
    assert all(sum(GROUPS[part](fact) for part in parts) == 1 for fact in facts)
    real = [fact for fact in facts if GROUPS["REAL-OPS"](fact)]
    assert all(is_core(fact) for fact in real)


def test_the_suite_itself_takes_the_backend():
    all_cases()  # made once, without the warnings of their making
    suite = BackendTest(nn_opt.onnx_backend, __name__).include("^test_(relu|operator_mm)_cpu")
    result = unittest.TestResult()
    suite.test_suite.run(result)
    ran = result.testsRun - len(result.skipped)
    assert (ran, result.failures, result.errors) == (2, [], [])
