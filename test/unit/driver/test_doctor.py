"""The report on what is installed, with things taken away; and completion in a real shell."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
import tools

from nn_opt.driver import doctor, main


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
