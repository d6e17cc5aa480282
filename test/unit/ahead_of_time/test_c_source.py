"""nn-compile to C99: what a user builds and runs with it agrees with onnxruntime."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tools
from samples import Sample

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


@tools.needs("cc")
@pytest.mark.parametrize(
    ("kind", "limit"),
    [("mlp", 1 << 20), ("mlp", 0), ("recurrent", 1 << 20)],
    ids=["weights inside", "weights beside", "recurrences"],
)
def test_a_c_program(
    kind: str,
    limit: int,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(c_source, "EMBEDDED_BYTES", limit)
    sample: Sample = request.getfixturevalue(kind)
    x, y = sample.x, sample.y
    assert main([str(sample.path), "-o", str(tmp_path / "net.c")]) == 0
    reading = 'fread(w, 1, sizeof w, fopen("net.c.weights", "rb")) ? w : w'
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
    assert (tmp_path / "net.c.weights").exists() == (limit == 0)


BOARD = Path(__file__).resolve().parents[3] / "examples" / "microcontroller"
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]


@pytest.fixture(scope="session")
def small(mlp: Sample, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """Return a folder with a model in C and a program, and what that should print."""
    folder = tmp_path_factory.mktemp("small")
    arguments = ["--name", "net", "--embed-weights", "-o", str(folder / "net.c")]
    assert main([str(mlp.path), *arguments]) == 0
    for path in BOARD.iterdir():
        shutil.copy(path, folder)
    x = np.arange(mlp.x.size, dtype=np.float32).reshape(mlp.x.shape) * np.float32(0.01)
    (y,) = onnxruntime.InferenceSession(str(mlp.path)).run(None, {mlp.name: x})
    return folder, [1e6 * value for value in np.asarray(y).reshape(-1).tolist()]


@pytest.mark.parametrize(
    ("compiler", "emulator"),
    [
        ("gcc", ""),
        ("clang-19", ""),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("arm-linux-gnueabihf-gcc", "qemu-arm"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ],
)
def test_compilers(small: tuple[Path, list[float]], compiler: str, emulator: str):
    folder, expected = small
    program = str(folder / f"main-{compiler}")
    runner = [tools.need(emulator)] if emulator else []
    link = ["-static", "-o", program, "main.c", "net.c", "-lm"]
    subprocess.run([tools.need(compiler), *STRICT, *link], cwd=folder, check=True)
    done = subprocess.run([*runner, program], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(list(map(int, done.stdout.split())), expected, atol=2)


@tools.needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_a_microcontroller(small: tuple[Path, list[float]], mlp: Sample):
    folder, expected = small
    files = ["boot.c", "main.c", "net.c"]
    link = ["--specs=rdimon.specs", "-T", "mps2.ld", *files, "-lm", "-o", "net.elf"]
    subprocess.run([tools.need("arm-none-eabi-gcc"), *STRICT, *M4, *link], cwd=folder, check=True)
    machine = ["-M", "mps2-an386", "-nographic", "-semihosting-config", "enable=on,target=native"]
    command = [tools.need("qemu-system-arm"), *machine, "-kernel", "net.elf"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(list(map(int, done.stdout.split())), expected, atol=2)


@tools.needs("arm-none-eabi-gcc")
def test_what_is_said_of_memory(
    small: tuple[Path, list[float]],
    mlp: Sample,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    """The sections of the object file are what nn-compile says: all in flash, nothing in RAM."""
    folder, _ = small
    arguments = ["--embed-weights", "-o", str(tmp_path / "net.c")]
    assert main([str(mlp.path), *arguments]) == 0
    printed = capsys.readouterr().out
    edges = mlp.x.nbytes + mlp.y.nbytes
    pattern = rf"RAM: arena (\d+) bytes, inputs and outputs {edges} bytes, arrays on the stack"
    said = re.search(rf"{pattern} (\d+) bytes; flash: weights ([\d,]+) bytes", printed)
    assert said is not None
    compiler = tools.need("arm-none-eabi-gcc")
    subprocess.run([compiler, *STRICT, *M4, "-c", "net.c"], cwd=folder, check=True)
    size = [compiler.replace("gcc", "size"), "-A", "net.o"]
    rows = subprocess.run(size, cwd=folder, capture_output=True, text=True, check=True).stdout
    sizes = dict(row.split()[:2] for row in rows.splitlines() if row.startswith("."))
    assert int(sizes[".data"]) == int(sizes[".bss"]) == 0
    tables = 26 * 4  # the two biases that are small enough
    assert int(sizes[".rodata"]) == pytest.approx(int(said[3].replace(",", "")) + tables, abs=64)
