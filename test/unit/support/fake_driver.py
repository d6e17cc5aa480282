"""Fixtures: CUDA's driver played by one whose device is this CPU, threads as fibers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tools
from simt_programs import compile_cuda

from nn_opt.runtime import cuda, nvrtc

FAKE = Path(__file__).parent / "fake_cuda" / "cuda.c"


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("fake-cuda") / "libcuda.so.1"
    command = [tools.need("cc"), "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, "-o", str(library), str(FAKE), "-ldl"], check=True)
    return str(library)


@pytest.fixture
def fake(fake_driver: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the driver be the fake one; what NVRTC takes is compiled for the CPU, too."""
    compile_text = nvrtc.compile_text

    def compiled(text: str, machine: int) -> bytes:
        library: Any = compile_cuda(text).library
        monkeypatch.setenv("FAKE_CUDA_KERNELS", library._name)
        return compile_text(text, machine)

    monkeypatch.setattr(cuda, "LIBRARY", fake_driver)
    monkeypatch.setattr(cuda, "compile_text", compiled)
    forget()
    yield
    forget()


def forget() -> None:
    """Have the driver and the device looked for again."""
    cuda.library.cache_clear()
    cuda.first_device.cache_clear()
