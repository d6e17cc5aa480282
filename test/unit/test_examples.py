"""The examples run and say what they should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAYS = {
    "compile_and_run.py": "1 xor 0 = 1\n1 xor 1 = 0\n",
    "ir_levels.py": "products of 1 and 0.5: 36.0\n",
    "tutorial/run.py": "largest difference from NumPy: ",
}


@pytest.mark.parametrize("name", SAYS)
def test_example(name, tmp_path, monkeypatch):
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path / "cache"))
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout
