"""The tools that run the documentation notice what is wrong."""

from __future__ import annotations

import pytest
from doc_blocks import steps_of
from doc_shell import commands_of, dialogue_of, is_shown

WRONG = {
    "a command that fails": "```sh\nnn-opt --no-such-pass\n```\n",
    "a command that should fail": "<!-- fails: 1 -->\n```sh\nnn-opt --version\n```\n",
    "other output": "```console\n$ nn-opt --show-dialects=math\n  math.sine\n```\n",
    "no output": "```console\n$ nn-opt --version\n```\n",
    "output of a shell": "```console\n$ echo a | cat\nb\n```\n",
    "a program that is here": "<!-- needs: bash -->\n```sh\nfalse\n```\n",
    "an error in Python": "```python\n1 / 0\n```\n",
    "a wrong dialogue": "```python\n>>> 1 + 1\n3\n```\n",
    "other print": "```python\nprint(1)\n```\n<!-- prints -->\n```text\n2\n```\n",
    "IR that is none": "```mlir\nfunc.func @main() { graph.nothing }\n```\n",
    "a fragment that is none": "<!-- fragment -->\n```mlir\n%x = `\n```\n",
    "LLVM IR that is none": "```llvm\ndefine nothing\n```\n",
    "no part of a file": "<!-- excerpt: LICENSE -->\n```text\nnobody wrote this\n```\n",
    "a language that nobody runs": "```cobol\nSTOP RUN.\n```\n",
}
RIGHT = {
    "any lines": "```console\n$ nn-opt --version\n...\n```\n",
    "a namespace": "```python\nx = 1\n```\n\n```python\n>>> x + 1\n2\n```\n",
    "a print": "```python\nprint(1)\n```\n<!-- prints -->\n```text\n1\n```\n",
    "a file": '```mlir title="in.mlir"\nfunc.func private @f()\n```\n```sh\nnn-opt in.mlir\n```\n',
    "a pipe": "```console\n$ nn-opt --show-dialects | grep graph\ngraph\n```\n",
    "standard error": "<!-- fails: 1 -->\n```console\n$ nn-opt none.mlir\n"
    "none.mlir: error: No such file or directory\n```\n",
    "what is not run": "<!-- not run: there is no such tool -->\n```sh\nno-such-tool\n```\n",
    "hidden steps": "<!-- hidden python\nx = 1\n-->\n```python\nassert x == 1\n```\n",
    "a program that is missing": "<!-- needs: no-such-tool -->\n```sh\nno-such-tool\n```\n",
    "a feature that is missing": "<!-- needs: cpu no-such -->\n```sh\nfalse\n```\n",
    "a copy": "<!-- file: a/b.md = README.md -->\n```sh\ntest -s a/b.md\n```\n",
}


@pytest.fixture
def page(tmp_path):
    def write(text):
        path = tmp_path / "page.md"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("case", WRONG)
def test_wrong_block_is_found(server, page, case):
    assert "page.md:" in server.problems(page(WRONG[case]))


@pytest.mark.parametrize("case", RIGHT)
def test_right_block_passes(server, page, case):
    assert server.problems(page(RIGHT[case])) == ""


def test_a_comment_without_block_is_refused(page):
    with pytest.raises(AssertionError, match="no block after it"):
        steps_of(page("<!-- not run: why -->\n"))


def test_times_do_not_matter():
    assert is_shown("took 1.5 ms\n", "took 22.25 ms\n")
    assert is_shown("0.0012 ( 12.3%)  cse\n", "0.1234 (  1.0%)  cse\n")
    assert not is_shown("2 ops\n", "3 ops\n")
    assert not is_shown("1.5 ms cse\n", "1.5 ms dce\n")


def test_dots_stand_for_any_lines():
    assert is_shown("a\n...\nd\n", "a\nb\nc\nd\n")
    assert is_shown("a\n...\n", "a\n")
    assert not is_shown("a\n...\nd\n", "a\nb\nc\n")


def test_commands_and_comments():
    assert commands_of("# all\na b  # why\nc \\\n  d\n") == ["a b", "c    d"]
    assert dialogue_of("$ a\nx\n$ b\n") == [("a", "x\n"), ("b", "\n")]
