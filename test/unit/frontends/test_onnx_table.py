"""The table of converters: every operator in it is tested, here or by ONNX, and exists."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest

from conformance import record
from nn_opt.frontends.onnx.experimental import ON_TRIAL
from nn_opt.frontends.onnx.reader import OF_ONNXRUNTIME
from nn_opt.frontends.onnx.table import BESIDE, FILES_OF, all_converters

UNIT = Path(__file__).resolve().parent.parent
FILES = [path for path in UNIT.rglob("test_onnx_*.py") if path != Path(__file__).resolve()]
NAMED = {word for path in FILES for word in re.findall(r"[A-Z]\w+", path.read_text())}
OF_ONNX = {
    name.rpartition(".")[2]
    for test in record.read()[0].values()
    if test["status"] == "pass"
    for name in test["operators"]
}


@pytest.mark.parametrize(("domain", "name"), sorted(all_converters()))
def test_operator_exists_and_is_tested(domain: str, name: str) -> None:
    """Those of nn_opt's own domain are parts of operators of ONNX, which are tested."""
    foreign = domain in ("com.microsoft", "nn_opt") or name in (*OF_ONNXRUNTIME, *ON_TRIAL)
    assert foreign or onnx.defs.has(name, domain)
    assert domain == "nn_opt" or name in NAMED | OF_ONNX


def test_files_that_are_imported_for_a_domain_hold_no_other_operators() -> None:
    domains = {name: domain for domain, names in FILES_OF.items() for name in names.split()}
    for key, converter in all_converters().items():
        file = converter.convert.__module__.rpartition(".")[2]
        assert domains.get(file, key[0]) == BESIDE.get(key, key[0]), f"{key} in {file}.py"
