"""The wheel holds every package, and works where there is no checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    *("nn_opt", "backends", "conversion", "dialects", "frontends"),
    *("passes", "reference", "runtime", "schedule"),
)
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())


def import_name(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "nn_opt" else ("nn_opt", *parts))


def package_folders() -> set[str]:
    inits = (init for source in SOURCES for init in (ROOT / source).rglob("__init__.py"))
    real = (init.parent for init in inits if not _is_linked(init.parent))
    return {import_name(folder) for folder in real}


def _is_linked(folder: Path) -> bool:
    return any(part.is_symlink() for part in (folder, *folder.parents) if part != ROOT.parent)


def test_every_package_folder_is_listed():
    assert package_folders() == set(SETUP["tool"]["setuptools"]["packages"])


@pytest.fixture(scope="module")
def unpacked_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    source = folder / "source"  # a copy: setuptools leaves a build folder behind
    leave_out = shutil.ignore_patterns(".git", ".venv", ".models", "build", "__pycache__", "test")
    shutil.copytree(ROOT, source, symlinks=True, ignore=leave_out)
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_wheel_has_only_our_package_and_its_data(unpacked_wheel: Path):
    names = {path.name for path in unpacked_wheel.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"nn_opt"}
    made = ("ahead_of_time/host/common.c", "ahead_of_time/page/page.html")
    for data in ("py.typed", "runtime/pool.ll", "backends/llvm/glue/interface.ll", *made):
        assert (unpacked_wheel / "nn_opt" / data).is_file()


def test_wheel_runs_outside_the_checkout(unpacked_wheel: Path):
    program = (
        "import numpy as np, nn_opt; print(nn_opt.__file__);"
        "m = nn_opt.parse('func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\\n"
        " %y = graph.relu %x : tensor<3xf32> func.return %y : tensor<3xf32> }');"
        "print(nn_opt.compile(m, cache=False)(np.float32([-1, 0, 2])))"
    )
    command = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path[:0] = {_paths(unpacked_wheel)!r}\n{program}",
    ]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, cwd=unpacked_wheel)
    assert str(unpacked_wheel) in shown.stdout
    assert "[0. 0. 2.]" in shown.stdout


def _paths(site: Path) -> list[str]:
    """Return the wheel, then where its dependencies are; -S keeps the editable install out."""
    return [str(site), *(path for path in sys.path if path.endswith("site-packages"))]
