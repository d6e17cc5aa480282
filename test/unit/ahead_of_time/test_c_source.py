"""nn-compile to C99: what a user builds and runs with it agrees with onnxruntime."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tools

from bench import models
from nn_opt.ahead_of_time import c_source
from nn_opt.driver.compile import main

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"
int main(void) {{
  static float x[{inputs}], y[{outputs}];
  static double arena[{guard}_ARENA_BYTES / 8 + 1];
  {weights}
  if (fread(x, 4, {inputs}, stdin) != {inputs}) return 1;
  const void *const in[] = {{x}};
  void *const out[] = {{y}};
  {name}_run(in, out, weights, arena);
  return fwrite(y, 4, {outputs}, stdout) != {outputs};
}}
"""


@pytest.fixture
def model(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """A small MLP's file, an input, and what onnxruntime makes of it."""
    path = tmp_path / "a model.onnx"
    path.write_bytes(models.build_small("mlp").SerializeToString())
    session = onnxruntime.InferenceSession(str(path))
    x = np.random.default_rng(0).normal(size=session.get_inputs()[0].shape).astype(np.float32)
    (y,) = session.run(None, {"features": x})
    return path, x, np.asarray(y)


@tools.needs("cc")
@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["weights inside", "weights beside"])
def test_a_c_program(
    limit: int,
    model: tuple[Path, np.ndarray, np.ndarray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(c_source, "EMBEDDED_BYTES", limit)
    path, x, y = model
    assert main([str(path), "-o", str(tmp_path / "net.c")]) == 0
    reading = 'fread(w, 1, sizeof w, fopen("net.weights", "rb")) ? w : w'
    weights = "const void *weights = net_weights;"
    if not limit:
        weights = f"static double w[NET_WEIGHT_BYTES / 8 + 1]; const void *weights = {reading};"
    text = PROGRAM.format(name="net", guard="NET", inputs=x.size, outputs=y.size, weights=weights)
    (tmp_path / "program.c").write_text(text)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
    command = ["cc", *flags, "program.c", "net.c", "-o", "program", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = subprocess.run(
        ["./program"], cwd=tmp_path, input=x.tobytes(), capture_output=True, check=True
    )
    got = np.frombuffer(run.stdout, np.float32).reshape(y.shape)
    np.testing.assert_allclose(got, y, rtol=1e-5, atol=1e-6)
    assert (tmp_path / "net.weights").exists() == (limit == 0)
