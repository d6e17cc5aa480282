"""The page in a browser: the pipeline, and IR before and after a pass."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from chromium import Chromium
from pages import TEXT, go, go_to_pass, pass_number

import nn_opt


def test_the_pipeline_is_listed(browser: Chromium, text_page: str):
    browser.open(text_page)
    names = browser.run(
        "[...document.querySelectorAll('.pass .name')].map(name => name.textContent)"
    )
    assert names == ["input", *(step.name for step in nn_opt.Pipeline("compile"))]
    assert browser.text(".passes .group .name") == "compile"
    fuse = browser.run(
        "[...document.querySelectorAll('.pass')].find(p => p.textContent.includes('fuse-ops'))"
        ".getAttribute('aria-label')"
    )
    assert fuse == "fuse-ops, changed"


def test_only_passes_that_changed_something_on_demand(browser: Chromium, text_page: str):
    browser.open(text_page)
    before = browser.count(".pass")
    browser.click("#changed-only")
    assert 2 < browser.count(".pass") < before
    assert browser.count(".pass.unchanged") == 0
    browser.press("c")
    assert browser.count(".pass") == before


def test_the_first_pass_that_changed_something_is_shown(browser: Chromium, text_page: str):
    browser.open(text_page)
    assert browser.text(".pass[aria-selected=true] .name") == "canonicalize"


def test_lines_that_changed_are_marked(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "fuse-ops")
    added = browser.run(
        "[...document.querySelectorAll('.row.added .cell.after')].map(c => c.textContent.trim())"
    )
    assert any(line.startswith("%0 = graph.fused") for line in added)
    assert any(line.startswith("graph.yield") for line in added)
    assert browser.count(".row.removed") == 0
    assert browser.count(".t-op") > 5
    words = browser.run(
        "[...document.querySelectorAll('.row.modified .word')].map(w => w.textContent)"
    )
    assert "%x" in words


@pytest.fixture
def folded_page(tmp_path: Path) -> str:
    """Return the address of a page with two stretches of 17 lines that no pass changed."""
    chain = [f"  %{k + 1} = graph.relu %{k} : tensor<4xf32>\n" for k in range(40)]
    chain.insert(20, "  %dead = graph.exp %3 : tensor<4xf32>\n")
    head = "func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {\n"
    text = f"{head}{''.join(chain)}  func.return %40 : tensor<4xf32>\n}}\n"
    page = tmp_path / "page.html"
    nn_opt.explore(text, "dce", page)
    return page.as_uri()


def test_a_press_outlives_a_redraw(browser: Chromium, folded_page: str):
    browser.open(folded_page)
    shown = browser.count(".row.line")
    place = browser.place(".fold-row")
    browser.mouse("mousePressed", *place)
    browser.run("document.querySelector('.ir .scroller').dispatchEvent(new Event('scroll'))")
    browser.settle()
    browser.mouse("mouseReleased", *place)
    browser.settle()
    assert browser.count(".row.line") == shown + 17


def test_unchanged_stretches_and_functions_are_folded(browser: Chromium, folded_page: str):
    browser.open(folded_page)
    shown = browser.count(".row.line")
    assert browser.count(".row.removed") == 1
    assert browser.count(".fold-row") == 2
    assert browser.text(".fold-row") == "⋯ 17 unchanged lines"
    browser.click(".fold-row")
    assert browser.count(".row.line") == shown + 17
    browser.press("f")
    assert browser.count(".fold-row") == 0
    browser.click(".row.head", browser.count(".row.head") - 1)
    assert browser.count(".row.line") < 3
    browser.press("f")


def test_a_line_leads_to_where_it_came_from_and_what_became_of_it(
    browser: Chromium, text_page: str
):
    browser.open(text_page)
    go_to_pass(browser, "fuse-ops")
    line = browser.run(
        "[...document.querySelectorAll('.cell.after')]"
        ".findIndex(c => c.textContent.includes('graph.conv'))"
    )
    browser.click(".cell.after", line)
    assert "graph.conv" in browser.text(".cell.after.chosen")
    assert "graph.conv" in browser.text(".cell.before.related")
    assert browser.count(".cell.before.related") == 1
    trail = browser.text(".trail")
    assert "input" in trail
    assert "convert-loop-to-llvm" in trail
    assert "loop.for" in trail
    assert "graph.conv" in browser.text(".from-source")
    browser.click("#tab-source")
    assert browser.text(".inspector .cell.chosen").strip().startswith("%0 = graph.conv")
    go_to_pass(browser, "convert-graph-to-tensor", "view=ir&at=20&line=main::4")
    assert browser.count(".cell.related, .cell.chosen") > 0


def test_an_address_leads_back(browser: Chromium, text_page: str):
    browser.open(text_page)
    number = pass_number(browser, "convert-graph-to-tensor")
    browser.open(f"{text_page}#pass={number}&fn=conv_relu_0&line=2&view=ir")
    assert browser.text(".pass[aria-selected=true] .name") == "convert-graph-to-tensor"
    assert "tensor.compute" in browser.text(".cell.after.chosen")
    assert browser.count(".row.head") == 1
    browser.press("j")
    assert "pass=" + str(int(number) + 1) in browser.run("location.hash")
    assert "fn=conv_relu_0" in browser.run("location.hash")


def test_a_command_gives_the_module_after_a_pass(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "canonicalize")
    command = browser.text(".command code")
    specs = ("infer-shapes", "recognize-int8", "canonicalize")
    steps = nn_opt.Pipeline(shlex.split(command)[1].removeprefix("--pass-pipeline="))
    assert tuple(step.name for step in steps) == specs
    assert shlex.split(command)[0] == "nn-opt"
    shown = "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
    browser.run(shown)
    browser.click("#copy-ir")
    module = steps.run(nn_opt.parse(TEXT))
    assert browser.run("window.copied") + "\n" == nn_opt.print_module(module)
    browser.click(".command button")
    assert browser.run("window.copied") == command


def test_keys_walk_through_the_passes(browser: Chromium, text_page: str):
    browser.open(text_page)
    first = browser.text(".pass[aria-selected=true] .name")
    browser.press("j")
    second = browser.text(".pass[aria-selected=true] .name")
    assert (first, second) == ("canonicalize", "recognize-block-weights")
    browser.press("k")
    assert browser.text(".pass[aria-selected=true] .name") == first
    for _ in range(5):
        browser.press("k")
    assert browser.text(".pass[aria-selected=true] .name") == "input"
    browser.run("document.querySelector('.pass[aria-selected=true]').focus()")
    browser.press("ArrowDown")
    assert browser.text(".pass[aria-selected=true] .name") == "infer-shapes"
    assert browser.run("document.activeElement.textContent").startswith("○infer-shapes")


def test_search_finds_lines(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "lower-blocks")
    browser.press("/")
    for char in "loop.store":
        browser.press(char)
    assert " of " in browser.text(".found")
    assert browser.text(".hit") == "loop.store"
    browser.press("Escape")
    assert browser.count(".hit") == 0


def test_a_pass_can_be_followed_rewrite_by_rewrite(browser: Chromium, tmp_path: Path):
    page = tmp_path / "page.html"
    chain = TEXT.replace(
        "%2 = graph.relu %1", "%z = graph.relu %1 : tensor<1x8x8x8xf32>\n  %2 = graph.relu %z"
    )
    nn_opt.explore(chain, "canonicalize,cse", page)
    browser.open(page.as_uri())
    assert "Rewrite by rewrite (2)" in browser.text("#rewrites")
    browser.click("#rewrites")
    pattern = browser.text(".stepper code")
    assert browser.text(".pane-titles") == f"before {pattern}after {pattern}"
    assert browser.count(".row.removed") + browser.count(".row.modified") >= 1
    relus = (
        "[...document.querySelectorAll('.cell.after')]"
        ".filter(cell => cell.textContent.includes('graph.relu')).length"
    )
    assert browser.run(relus) == 2
    browser.press("n")
    assert browser.text(".stepper span").startswith("2 of 2")
    assert browser.run(relus) == 1
    browser.press("n")
    assert browser.text(".stepper span").startswith("2 of 2")
    browser.press("p")
    assert "rewrite=0" in browser.run("location.hash")
    browser.press("j")
    assert "rewrite" not in browser.run("location.hash")
    assert browser.text(".pass[aria-selected=true] .name") == "cse"


def test_a_value_is_marked_wherever_it_is_read(browser: Chromium, text_page: str):
    browser.open(text_page)
    go(browser, "pass=-1&view=ir")
    value = (
        "[...document.querySelectorAll('.cell.after .t-value')].find(v => v.textContent === '%1')"
    )
    browser.run(f"{value}.click()")
    browser.settle()
    marked = browser.run(
        "[...document.querySelectorAll('.same-value')].map(v => [v.textContent,"
        " v.closest('.row').querySelector('.number').textContent])"
    )
    assert marked == [["%1", "3"], ["%1", "4"]]
    browser.run(f"{value}.click()")
    browser.settle()
    assert browser.count(".same-value") == 0


def test_a_symbol_leads_to_its_function(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "outline-kernels")
    browser.run(
        "[...document.querySelectorAll('.cell.after .t-symbol')]"
        ".find(s => s.textContent === '@conv_relu_0')"
        ".dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
    )
    browser.settle()
    assert "fn=conv_relu_0" in browser.run("location.hash")


def test_passes_after_which_a_text_is_there_are_marked(browser: Chromium, text_page: str):
    browser.open(text_page)
    browser.press("/")
    for char in "graph.fused":
        browser.press(char)
    marked = browser.run(
        "[...document.querySelectorAll('.pass.has-hit .name')].map(name => name.textContent)"
    )
    assert marked == ["fuse-ops", "stream-softmax", "keep-wide"]
    browser.press("Escape")
    assert browser.count(".pass.has-hit") == 0


def test_what_an_op_means_is_beside_its_life(browser: Chromium, text_page: str):
    browser.open(text_page)
    go(browser, "pass=-1&view=ir&line=main::3&tab=trail")
    assert "graph.relu" in browser.text(".about")
    assert len(browser.text(".about")) > len("graph.relu ")


def test_remarks_and_statistics_are_beside_the_pass(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "fuse-ops")
    said = browser.text(".inspector-body")
    assert "kernels-formed" in said
    assert "--fuse-ops{max-depth=" in said
    go_to_pass(browser, "canonicalize")
    assert "fired" in browser.text(".inspector-body")


def test_a_line_of_the_source_leads_to_what_became_of_it(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "outline-kernels", "view=ir&tab=source")
    relu = browser.run(
        "[...document.querySelectorAll('.inspector .cell')]"
        ".findIndex(cell => cell.textContent.includes('%1 = graph.relu'))"
    )
    browser.click(".inspector .cell", relu)
    assert "graph.relu" in browser.text(".ir .cell.after.chosen")
    assert "fn=" not in browser.run("location.hash")


def test_a_remark_leads_to_its_line_of_the_source(browser: Chromium, tmp_path: Path):
    source = tmp_path / "in.mlir"
    source.write_text(
        "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  %0 = graph.exp %x : tensor<4xf32>\n"
        "  %1 = graph.relu %0 : tensor<4xf32>\n"
        "  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>\n"
        "}\n"
    )
    page = tmp_path / "page.html"
    nn_opt.explore(source, "fuse-ops", page)
    browser.open(page.as_uri())
    assert "kept in memory for 2 readers" in browser.text(".inspector-body")
    link = browser.run(
        "[...document.querySelectorAll('.op-link')]"
        ".findIndex(link => link.textContent.endsWith('in.mlir:2:8'))"
    )
    browser.click(".op-link", link)
    assert "%0 = graph.exp" in browser.text(".inspector .cell.chosen")
