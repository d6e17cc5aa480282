"""Commands of the documentation, nn-opt's own tools without the start of a process."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

TOOLS = {
    "nn-opt": "nn_opt.driver",
    "nn-run": "nn_opt.driver.run",
    "nn-compile": "nn_opt.driver.compile",
}
_SIMPLE = re.compile(r"[^|&;<>$`(){}*?~#\\]*")
LIMIT_S = 60
_TIMES = (
    (re.compile(r"\d+(?:\.\d+)?(?=\s?(?:ns|us|µs|ms|s|sec|GFLOP/s|%)(?![\w]))"), "#"),
    (re.compile(r"(?<![\w.-])-?\d+\.\d{3,}(?![\w.])"), "#"),
    (re.compile(r"\d\.\d+e-\d\d"), "#"),
    (re.compile(r"[ ─━]+"), " "),
)


def preload() -> None:
    """Import what most commands need, so that each fork has it."""
    for name in (*TOOLS.values(), "nn_opt.build", "nn_opt.driver.tool", "nn_opt.frontends.onnx"):
        import_module(name)
    from nn_opt.ir.parsing import DIALECTS, make_context

    context = make_context()
    for name in DIALECTS:
        context.get_dialect(name)


def run_command(command: str, folder: Path) -> tuple[int, str]:
    """Return the exit status of a command and all that it prints."""
    first, pipe, rest = _pipeline(command)
    words = shlex.split(first)
    if not words or words[0] not in TOOLS or not _SIMPLE.fullmatch(_quoted_away(first)):
        return _in_shell(command, folder)
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        separate = pipe == "|"
        arguments = words[1:]
        status = _forked(lambda: _tool(words[0], arguments), folder, printed, errors, separate)
        if not rest:
            return status, _read(printed)
        printed.seek(0)
        done, text = _in_shell(f"set -o pipefail; {rest}", folder, printed)
        return done or status, _read(errors) + text


def _pipeline(command: str) -> tuple[str, str, str]:
    """Split a command at its first pipe: what feeds it, which pipe it is, what reads from it."""
    bare = _quoted_away(command)
    at = bare.find("|")
    if at < 0:
        return command, "", ""
    first, rest = command[:at], command[at + 1 :]
    if first.rstrip().endswith("2>&1"):
        return first.rstrip()[:-4], "2>&1 |", rest
    return first, "|", rest


def _quoted_away(command: str) -> str:
    """Return a command with everything in quotes, and pass options in braces, blanked."""
    text = re.sub(r"'[^']*'|\"[^\"$`]*\"", lambda found: "_" * len(found[0]), command)
    return re.sub(r"(?<==)\{[^}]*\}|(?<=\w)\{[\w=,. -]*\}", lambda found: "_" * len(found[0]), text)


def _read(file: object) -> str:
    file.seek(0)  # type: ignore[attr-defined]
    return file.read().decode()  # type: ignore[attr-defined]


def _tool(name: str, arguments: Sequence[str]) -> int:
    sys.argv = [name, *arguments]
    return import_module(TOOLS[name]).main(list(arguments))


def _forked(
    action: Callable[[], int], folder: Path, printed: object, errors: object, separate: bool
) -> int:
    """Run something in a child that shares what is imported; return its status."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.chdir(folder)
            os.dup2(printed.fileno(), 1)  # type: ignore[attr-defined]
            os.dup2(errors.fileno() if separate else 1, 2)  # type: ignore[attr-defined]
            sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)
            sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)
            sys.stdin = open(os.devnull, encoding="utf-8")
            status = action()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def environment() -> dict[str, str]:
    """Return the environment of a shell: our tools and those of MLIR."""
    site = Path(sysconfig.get_path("purelib"))
    places = [Path(sys.executable).parent, site / "mlir" / "bin", site / "llvm" / "bin"]
    path = ":".join([*map(str, places), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "LD_LIBRARY_PATH": f"{site / 'llvm' / 'lib'}"}


def _in_shell(command: str, folder: Path, given: object = subprocess.DEVNULL) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdin=given,  # type: ignore[call-overload]
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode, done.stdout


def commands_of(text: str) -> list[str]:
    """Return the commands of an `sh` block; a backslash at the end joins lines."""
    joined = text.replace("\\\n", " ")
    without = (re.sub(r"\s{2,}#.*|^#.*", "", line).strip() for line in joined.split("\n"))
    return [command for command in without if command]


def dialogue_of(text: str) -> list[tuple[str, str]]:
    """Return the commands of a `console` block and what is shown after each."""
    parts: list[tuple[str, str]] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("$ "):
            parts.append((line[2:], ""))
        elif parts:
            parts[-1] = (parts[-1][0], parts[-1][1] + line + "\n")
    return parts


def is_shown(expected: str, actual: str) -> bool:
    """Return whether a page shows what a command prints, except for times.

    `...` stands for anything in a line, and alone on one for any lines.
    """
    parts = [
        _steady(part) for part in re.split(r"(?m)^[ \t]*\.\.\.\n", expected.strip("\n") + "\n")
    ]
    pattern = r"(?:.*\n)*?".join(re.escape(part).replace(r"\.\.\.", ".*") for part in parts)
    return re.fullmatch(pattern, _steady(actual.strip("\n") + "\n")) is not None


def _steady(text: str) -> str:
    """Return a text with its times, and blanks beside them, made equal."""
    for pattern, replacement in _TIMES:
        text = pattern.sub(replacement, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
