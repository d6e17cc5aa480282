"""`make system-tools` installs what is missing, and says in one line why it cannot."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import pytest
import tools

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "system_tools.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the script, on a machine that has apt and one of its packages."""
    spec = spec_from_file_location("system_tools", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "system_tools", module)
    spec.loader.exec_module(module)
    groups = {"A": (module.Package("one", "program-one"), module.Package("lib-two"))}
    monkeypatch.setattr(module, "GROUPS", groups)
    monkeypatch.setattr(module, "installed", lambda names: {"lib-two"} & set(names))
    monkeypatch.setattr(module, "unknown", lambda names: [])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/apt" if name == "apt-get" else None)
    monkeypatch.setattr(module.subprocess, "run", lambda *_args, **_options: None)
    return module


def test_what_is_missing_is_named_and_installed(script: Any, monkeypatch, capsys):
    commands: list[Any] = []
    run = lambda command, **_options: commands.append(command)  # noqa: E731
    monkeypatch.setattr(script.subprocess, "run", run)
    assert script.main() == 0
    assert capsys.readouterr().out == "system-tools: A: one\n"
    update, install = commands
    assert update[-1] == "update"
    assert install[-4:] == ["install", "-y", "--no-install-recommends", "one"]


def test_what_is_there_is_left_alone(script: Any, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "-" else f"/bin/{name}")
    assert script.main() == 0
    assert capsys.readouterr().out == "system-tools: everything is there\n"


def test_without_root_the_command_with_root_is_named(script: Any, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert script.main() == 1
    said = capsys.readouterr().err
    assert said == "error: apt-get installs as root alone; run `sudo make system-tools`\n"


def test_without_apt_the_packages_are_named(script: Any, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert script.main() == 1
    said = capsys.readouterr().err
    assert said.startswith("error: there is no apt-get here; ")
    assert said.endswith(" one\n")


def test_a_package_that_apt_does_not_know(script: Any, monkeypatch, capsys):
    monkeypatch.setattr(script, "unknown", lambda names: ["one"])
    assert script.main() == 1
    assert capsys.readouterr().err == "error: this system's apt has no package one\n"


def test_apt_fails(script: Any, monkeypatch, capsys):
    def fail(command, **options):
        if options["check"]:
            raise CalledProcessError(100, command)

    monkeypatch.setattr(script.subprocess, "run", fail)
    assert script.main() == 1
    assert capsys.readouterr().err.endswith(" one failed\n")


def test_tools_of_tests_name_it(script: Any):
    """What tests say the script brings, it brings."""
    spec = spec_from_file_location("system_tools_as_is", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    programs = {package.program for group in module.GROUPS.values() for package in group}
    names = {package.name for group in module.GROUPS.values() for package in group}
    elsewhere = {
        "bash": "bash",  # of each system
        "cc": "gcc",
        "clang++-19": "clang-19",
        "java": "default-jdk-headless",
        "spirv-as": "spirv-tools",
        "spirv-dis": "spirv-tools",
        "vulkan": "libvulkan1",
        "wasm-ld": "lld-19",
    }
    brought = [name for name, tool in tools.TOOLS.items() if tool.bring == tools.SYSTEM]
    for name in brought:
        user = "qemu-user-static" if name.startswith("qemu-") else name
        assert name in programs or elsewhere.get(name, user) in names | {"bash"}, name
