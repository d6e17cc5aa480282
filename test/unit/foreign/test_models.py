"""Whole models on other machines: the same answers as onnxruntime's, within 1e-4."""

from __future__ import annotations

from pathlib import Path

import pytest
from foreign import MACHINES, run_foreign
from four_models import FOUR, case

from nn_opt.frontends.onnx import import_model


@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
@pytest.mark.parametrize("name", FOUR)
def test_models_on(name: str, machine: str, tmp_path: Path) -> None:
    wanted = case(name)
    module = import_model(wanted.model, shapes=wanted.shapes)
    wanted.assert_computed(run_foreign(module, MACHINES[machine], wanted.feeds, tmp_path))
