"""Run a page of the documentation: all its steps, in a folder and a namespace of its own.

python test/unit/docs/doc_pages.py docs/x.md    fills in what its commands print
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doc_blocks import ROOT, Step, steps_of
from doc_shell import commands_of, dialogue_of, environment, is_shown, preload, run_command

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Wrong(Exception):
    """A block that does not do what the page says."""


class Page:
    """What the steps of one page share."""

    def __init__(self, path: Path, folder: Path):
        self.path = path
        self.folder = folder
        self.namespace: dict[str, Any] = {"__name__": path.stem}
        self.printed = ""
        self.actual: dict[str, str] = {}

    def run(self) -> list[str]:
        """Return what is wrong with the page, one text a block."""
        problems: list[str] = []
        for step in steps_of(self.path):
            try:
                self.step(step)
            except Wrong as wrong:
                problems.append(f"{step.place}: {wrong}")
        return problems

    def step(self, step: Step) -> None:
        if "excerpt" in step.notes:
            check_excerpt(step)
        if step.title:
            (self.folder / step.title).write_text(step.text)
            if step.language == "python":  # runs when something imports or loads it
                compile(step.text, step.title, "exec")
                return
        if "excerpt" in step.notes or "not run" in step.notes:
            return
        if "needs" in step.notes and not is_here(step.notes["needs"]):
            return
        if "prints" in step.notes:
            self.compare(step, self.printed)
            return
        if step.language not in RUNNERS:
            raise Wrong(f"nobody runs blocks of '{step.language}'")
        RUNNERS[step.language](self, step)

    def compare(self, step: Step, actual: str, expected: str | None = None) -> None:
        expected = step.text if expected is None else expected
        if not is_shown(expected, actual):
            raise Wrong(f"shown:\n{textwrap.indent(expected, '  ')}but is:\n{actual}")


def is_here(what: str) -> bool:
    """Return whether this machine has a program, or its processor a feature."""
    kind, _, feature = what.partition(" ")
    if kind == "cpu":
        from nn_opt.ir.target import host

        return host().has(feature)
    sys.path.append(str(ROOT / "test" / "unit" / "support"))  # where this runs as a program
    import tools

    if what in tools.TOOLS:
        if tools.find(what) is None and tools.required():
            raise Wrong(tools.missing(what))
        return tools.find(what) is not None
    return shutil.which(what, path=environment()["PATH"]) is not None


def copy_file(page: Page, step: Step) -> None:
    """`<!-- file: NAME = PATH -->`"""
    name, _, source = (part.strip() for part in step.text.partition("="))
    target = page.folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / source, target)


def run_python(page: Page, step: Step) -> None:
    """Run a block; a dialogue with `>>>` is compared."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if step.text.startswith(">>>"):
            run_dialogue(page, step)
        else:
            run_code(page, step)
    page.printed = printed.getvalue()


def run_code(page: Page, step: Step) -> None:
    source = "\n" * step.line + step.text
    try:
        exec(compile(source, str(step.page), "exec", dont_inherit=True), page.namespace)
    except Exception as error:
        raise Wrong(traceback.format_exc()) from error


def run_dialogue(page: Page, step: Step) -> None:
    test = doctest.DocTestParser().get_doctest(
        step.text, page.namespace, step.page.name, str(step.page), step.line
    )
    test.globs = page.namespace
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test, out=said.write, clear_globs=False)
    if runner.failures:
        raise Wrong(said.getvalue())


def run_commands(page: Page, step: Step) -> None:
    """`sh`: each command succeeds, or ends with the status that the page says."""
    wanted = int(step.notes.get("fails", "0"))
    for command in commands_of(step.text):
        status, printed = run_command(command, page.folder)
        if status != wanted:
            raise Wrong(f"`{command}` exits with {status}, expected {wanted}:\n{printed}")


def run_console(page: Page, step: Step) -> None:
    """`console`: commands, and what they print."""
    wanted = int(step.notes.get("fails", "0"))
    lines: list[str] = []
    problems: list[str] = []
    for command, expected in dialogue_of(step.text):
        status, printed = run_command(command, page.folder)
        lines += (
            [f"$ {command}", *printed.rstrip("\n").split("\n")] if printed else [f"$ {command}"]
        )
        if status != wanted:
            problems.append(f"`{command}` exits with {status}, expected {wanted}:\n{printed}")
        elif not is_shown(expected, printed):
            shown = textwrap.indent(expected, "  ")
            problems.append(f"`{command}` shows\n{shown}but prints\n{printed}")
    page.actual[step.place] = "\n".join(lines) + "\n"
    if problems:
        raise Wrong("\n".join(problems))


def run_ir(page: Page, step: Step) -> None:
    """`mlir`: each part is a module that verifies; a fragment has known words."""
    from pygments.token import Error

    from nn_opt.highlight import MlirLexer
    from nn_opt.ir.parsing import make_context, parse_module
    from nn_opt.ir.verify import verify

    unknown = [word for kind, word in MlirLexer().get_tokens(step.text) if kind is Error]
    if unknown:
        raise Wrong(f"no words of IR: {unknown}")
    if "fragment" in step.notes:
        return
    for part in step.text.split("// -----\n"):
        try:
            verify(parse_module(make_context(), part, step.page.name))
        except Exception as error:
            raise Wrong(str(error)) from error


def run_llvm(page: Page, step: Step) -> None:
    """`llvm`: LLVM reads it."""
    from llvmlite import binding

    try:
        binding.parse_assembly(step.text).verify()
    except RuntimeError as error:
        raise Wrong(str(error)) from error


def run_toml(page: Page, step: Step) -> None:
    """`toml`: is read."""
    tomllib.loads(step.text)


def run_c(page: Page, step: Step) -> None:
    """`c`: a C compiler takes it, where there is one."""
    compiler = shutil.which("cc")
    if compiler is None:
        return
    source = f"#include <stdint.h>\n{step.text}"
    command = [compiler, "-fsyntax-only", "-I", str(page.folder), "-x", "c", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(done.stderr)


def run_js(page: Page, step: Step) -> None:
    """`js`: node takes it, where there is one."""
    if not is_here("node"):
        return
    source = page.folder / "block.mjs"
    source.write_text(step.text)
    done = subprocess.run(["node", "--check", source], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(done.stderr)


def run_nothing(page: Page, step: Step) -> None:
    """`text`: pictures and forms, nothing that runs."""


RUNNERS: dict[str, Callable[[Page, Step], None]] = {
    "file": copy_file,
    "python": run_python,
    "sh": run_commands,
    "console": run_console,
    "mlir": run_ir,
    "llvm": run_llvm,
    "toml": run_toml,
    "c": run_c,
    "js": run_js,
    "text": run_nothing,
}


def check_excerpt(step: Step) -> None:
    """Raise Wrong unless the block is in the file that its comment names."""
    path, _, mark = step.notes["excerpt"].partition("#")
    text = (ROOT / path).read_text()
    if mark:
        begin, end = text.find(f"[{mark}]\n"), text.find(f"[/{mark}]")
        if begin < 0 or end < 0:
            raise Wrong(f"{path} has no part [{mark}] to [/{mark}]")
        inside = text[text.index("\n", begin) + 1 : text.rindex("\n", 0, end) + 1]
        if textwrap.dedent(inside).strip("\n") != step.text.strip("\n"):
            raise Wrong(f"is not the part [{mark}] of {path}, which is\n{textwrap.dedent(inside)}")
    elif step.text.strip("\n") not in textwrap.dedent(text):
        raise Wrong(f"is no part of {path}")


def run_page(path: Path) -> str:
    """Return what is wrong with a page; it runs in a child, so that it leaves nothing behind."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile("w+") as report:
        child = os.fork()
        if child == 0:
            try:
                folder = prepare(Path(place))
                report.write("\n\n".join(Page(path, folder).run()))
            except BaseException:
                report.write(traceback.format_exc())
            finally:
                report.flush()
                os._exit(0)
        os.waitpid(child, 0)
        report.seek(0)
        return report.read()


def serve() -> None:
    """Answer each path on standard input by a line of JSON: what is wrong with that page."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    preload()
    for line in sys.stdin:
        answers.write(json.dumps(run_page(Path(line.strip()))) + "\n")
        answers.flush()


class Server:
    """A process without threads of other tests, which a child would inherit in any state."""

    def __init__(self) -> None:
        command = [sys.executable, __file__, "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def problems(self, path: Path) -> str:
        """Return what is wrong with a page, or nothing."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def prepare(place: Path) -> Path:
    """Make a folder for a page and go there; it has a home and a cache of its own, too."""
    for name in ("page", "home"):
        (place / name).mkdir()
    os.environ["NN_OPT_CACHE"] = str(place / "cache")
    os.environ["HOME"] = str(place / "home")
    os.environ["PATH"] = environment()["PATH"]  # for commands that our tools run
    os.chdir(place / "page")
    sys.path.insert(0, str(place / "page"))
    return place / "page"


def fill_in(path: Path) -> None:
    """Write into a page what its commands print, and excerpts as they are now."""
    preload()
    with tempfile.TemporaryDirectory() as place:
        folder = prepare(Path(place))
        page, text = Page(path, folder), path.read_text()
        changes: list[tuple[tuple[int, int], str]] = []
        for step in steps_of(path):
            new = filled(page, step)
            if new != step.text:
                changes.append((step.span, new))
        for (begin, end), new in reversed(changes):
            text = text[:begin] + new + text[end:]
        path.write_text(text)


def filled(page: Page, step: Step) -> str:
    """Return the text that a block should have."""
    if "excerpt" in step.notes and "#" in step.notes["excerpt"]:
        path, _, mark = step.notes["excerpt"].partition("#")
        text = (ROOT / path).read_text()
        inside = text[text.index(f"[{mark}]\n") :].partition("\n")[2]
        inside = inside[: inside.index(f"[/{mark}]")].rpartition("\n")[0]
        return textwrap.dedent(inside).strip("\n") + "\n"
    try:
        page.step(step)
    except Wrong as wrong:
        print(f"{step.place}: {wrong}")
        if "prints" in step.notes:
            return page.printed
        actual = page.actual.get(step.place, "")
        if step.language == "console" and "..." not in step.text and "Traceback" not in actual:
            return actual
    return step.text


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
        sys.exit()
    for path in [Path(name).resolve() for name in sys.argv[1:]]:
        fill_in(path)
