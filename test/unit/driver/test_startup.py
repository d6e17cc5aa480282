"""What a run imports, and how its process ends. Both are time that every run takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TINY = "func.func @f(%x: i32) -> i32 {\n  %y = arith.addi %x, %x : i32\n  func.return %y : i32\n}\n"
LIST = "import sys; from nn_opt.driver import main; main(sys.argv[1:]); print(*sys.modules)"
HEAVY = (
    "difflib",
    "json",
    "importlib.metadata",
    "llvmlite",
    "logging",
    "ml_dtypes",
    "multiprocessing",
    "numpy",
    "onnx",
    "onnxruntime",
    "rich",
    "safetensors",
    "subprocess",
    "nn_opt.backends",
    "nn_opt.compiler",
    "nn_opt.conversion",
    "nn_opt.dialects.graph",
    "nn_opt.explorer",
    "nn_opt.frontends",
    "nn_opt.reference",
    "nn_opt.runtime",
    "nn_opt.schedule",
)


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.mlir"
    path.write_text(TINY)
    return str(path)


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def imported(*arguments: str) -> set[str]:
    """Return the modules that a run imports, and the packages that they are in."""
    run = python(LIST, *arguments)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.splitlines()[-1].split())


def test_the_version_needs_no_compiler():
    modules = imported("--version")
    assert not {"xdsl", "argparse", "dataclasses", "numpy"} & modules


@pytest.mark.parametrize("tool", ["run", "compile"])
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_tools_of_models_import_no_compiler_before_they_compile(tool: str, option: str):
    code = "import sys, atexit; atexit.register(lambda: print(*sys.modules))\n" + LIST
    run = python(code.replace("nn_opt.driver ", f"nn_opt.driver.{tool} "), option)
    assert run.returncode == 0, run.stderr
    modules = set(run.stdout.splitlines()[-1].split())
    assert f"nn_opt.driver.{tool}" in modules
    assert not {"xdsl", "onnx", "onnxruntime", "rich", "nn_opt.frontends"} & modules


def test_a_text_that_is_read_and_printed(tiny: str):
    modules = imported(tiny)
    assert "xdsl.dialects.arith" in modules
    assert not modules & set(HEAVY)
    assert not {name for name in modules if name.startswith("nn_opt.passes.")}


@pytest.mark.parametrize("name", ["canonicalize", "cse", "dce"])
def test_a_pass_imports_no_other(tiny: str, name: str):
    modules = imported(f"--{name}", tiny)
    assert not modules & set(HEAVY)
    passes = {module for module in modules if module.startswith("nn_opt.passes.")}
    assert passes <= {f"nn_opt.passes.{name}", "nn_opt.passes.canonicalize_arith"}


PROGRAM = "import sys; sys.argv = ['nn-opt', *sys.argv[1:]]; from nn_opt.driver import program\n"


def test_the_process_writes_all_before_it_ends(tiny: str):
    run = python(f"{PROGRAM}program()", tiny)
    assert run.returncode == 0
    assert run.stdout.endswith("}\n")
    assert run.stdout.count("arith.addi") == 1


def test_the_process_ends_with_the_status_of_the_run(tmp_path: Path):
    run = python(f"{PROGRAM}program()", str(tmp_path / "none.mlir"))
    assert run.returncode == 1
    assert "none.mlir: error: No such file" in run.stderr


def test_who_asked_to_be_called_at_the_end_is_called(tiny: str):
    code = f"{PROGRAM}import atexit; atexit.register(print, 'the end'); program()"
    run = python(code, tiny)
    assert run.stdout.splitlines()[-1] == "the end"
