"""Which of ONNX's tests run each time: one or two an operator, and what once was wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from conformance.record import facts_of

# Failures of the past, of kinds that have no test of their own elsewhere.
AGAIN = (
    "node/test_softmax_axis_0",
    "node/test_batchnorm_example_training_mode",
    "node/test_training_dropout_mask",
    "node/test_cumprod_1d_reverse_exclusive",
    "node/test_not_2d",
    "node/test_mod_mixed_sign_float32",
    "node/test_reduce_max_empty_set",
    "node/test_range_float_type_positive_delta_expanded",
    "simple/test_expand_shape_model3",
)


def names(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a test of each operator, and those that must not fail again."""
    choices: dict[str, list[str]] = defaultdict(list)
    for name, result in results.items():
        facts = facts_of(name, result)
        if facts.is_plain and len(facts.operators) == 1:
            choices[facts.operators[0]].append(name)
    chosen = [_first(tests, results) for tests in choices.values()]
    return sorted({*chosen, *AGAIN})


def _first(tests: list[str], results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the first test that passes, else the first one."""
    return next((name for name in tests if results[name]["status"] == "pass"), tests[0])
