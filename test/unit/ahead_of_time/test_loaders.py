"""The loaders of examples/loaders, built and run where nothing of nn-opt is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tools
from samples import Sample

from nn_opt.driver.compile import main

LOADERS = Path(__file__).resolve().parents[3] / "examples" / "loaders"
PYTHON = """\
import sys
from pathlib import Path
import numpy as np
from nn_model import Model, ModelError
model = Model("net")
model.threads = 2
x = np.frombuffer(sys.stdin.buffer.read(), np.float32).reshape(model.inputs[0]["shape"])
y = model(x)
assert np.array_equal(model(**{model.inputs[0]["name"]: np.asfortranarray(x)}), y)
for wrong in ([], [x, x], [x.astype(np.float64)]):
    try:
        model(*wrong)
        sys.exit("no error")
    except ModelError as error:
        print(error, file=sys.stderr)
description = Path("net/net.json")
description.write_text(description.read_text().replace("20", "21"))
try:
    Model(description)
    sys.exit("no error")
except ModelError as error:
    print(error, file=sys.stderr)
assert "nn_opt" not in sys.modules and model.variant and model.threads == 2
sys.stdout.buffer.write(y.tobytes())
"""


@pytest.fixture
def folder(mlp: Sample, tmp_path: Path) -> Path:
    """Return a folder with the library net/libnet.so."""
    assert main([str(mlp.path), "--name", "net", "-o", str(tmp_path / "net")]) == 0
    return tmp_path


def call(folder: Path, *command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command without this environment's variables."""
    clean = {"PATH": os.defpath, "HOME": str(folder)}
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, env=clean, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done


def check(done: subprocess.CompletedProcess[bytes], sample: Sample, says: str) -> None:
    got = np.frombuffer(done.stdout, np.float32).reshape(sample.y.shape)
    np.testing.assert_allclose(got, sample.y, rtol=1e-5, atol=1e-6)
    assert says in done.stderr.decode()


@tools.needs("g++")
def test_cpp(folder: Path, mlp: Sample):
    shutil.copy(LOADERS / "cpp" / "main.cpp", folder)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", "net"]
    library = ["net/libnet.so", f"-Wl,-rpath,{folder}/net"]
    call(folder, tools.need("g++"), *flags, "main.cpp", *library, "-o", "main")
    check(call(folder, "./main", given=mlp.x.tobytes()), mlp, f"{mlp.name}: float32[1, 20]\n")


def test_python(folder: Path, mlp: Sample):
    shutil.copy(LOADERS / "python" / "nn_model.py", folder)
    (folder / "script.py").write_text(PYTHON)
    done = call(folder, sys.executable, "script.py", given=mlp.x.tobytes())
    check(done, mlp, "features is float32[1, 20], not float64[1, 20]\n")
    assert b"libnet.so is another library than net/net.json describes\n" in done.stderr


@tools.needs("java", "javac", "gcc")
def test_java(folder: Path, mlp: Sample):
    for name in ("Net.java", "net_jni.c"):
        shutil.copy(LOADERS / "java" / name, folder)
    call(folder, tools.need("javac"), "-h", ".", "Net.java")
    home = Path(tools.need("javac")).resolve().parents[1]
    flags = ["-shared", "-fPIC", "-Wall", "-Werror", "-I", "net"]
    flags += ["-I", f"{home}/include", "-I", f"{home}/include/linux"]
    library = ["net/libnet.so", f"-Wl,-rpath,{folder}/net"]
    call(folder, tools.need("gcc"), *flags, "net_jni.c", *library, "-o", "libnet_jni.so")
    run = [tools.need("java"), "-Djava.library.path=.", "Net"]
    check(call(folder, *run, given=mlp.x.tobytes()), mlp, "code for ")


@tools.needs("node", "wasm-ld")
def test_javascript(mlp: Sample, tmp_path: Path):
    assert main([str(mlp.path), "-o", str(tmp_path / "net.mjs")]) == 0
    shutil.copy(LOADERS / "javascript" / "run.mjs", tmp_path)
    done = call(tmp_path, tools.need("node"), "run.mjs", "net.mjs", given=mlp.x.tobytes())
    check(done, mlp, "run by wasm")
