"""The page in a browser: what it shows, where its links lead, that nothing of the data breaks out.

Chromium is that of `make browser`, of the machine, or the one that NN_OPT_BROWSER names.
"""

from __future__ import annotations

import base64
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from chromium import Chromium, find_browser

import nn_opt
from bench.models import SMALL

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(
    PROGRAM is None,
    reason="there is no browser: run `make browser`, install Chromium or set NN_OPT_BROWSER",
)
ATTACK = "</script><img src=x onerror=alert(1)>"
TEXT = f"""\
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x8x8xf32> attributes {{arg_names = ["{ATTACK}", "w"]}} {{
  %0 = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 {{note = "{ATTACK}"}} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x8x8xf32>
  %1 = graph.relu %0 : tensor<1x8x8x8xf32> loc("{ATTACK}")
  %2 = graph.relu %1 : tensor<1x8x8x8xf32>
  func.return %2 : tensor<1x8x8x8xf32>
}}
"""  # noqa: E501
WIDE, NARROW = (1440, 900), (600, 800)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    assert PROGRAM is not None
    with Chromium(PROGRAM) as browser:
        yield browser


@pytest.fixture(scope="module")
def text_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page of a file of IR."""
    folder = tmp_path_factory.mktemp("text")
    source = folder / "attack.mlir"
    source.write_text(TEXT)
    explored = nn_opt.explore(source, "compile", folder / "page.html")
    assert explored.error is None
    return (folder / "page.html").as_uri()


@pytest.fixture(scope="module")
def model_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page of a model."""
    folder = tmp_path_factory.mktemp("model")
    model = folder / "squeezenet.onnx"
    model.write_bytes(SMALL["squeezenet1_1"]("squeezenet1_1").SerializeToString())
    explored = nn_opt.explore(model, "compile", folder / "page.html")
    assert explored.error is None
    return (folder / "page.html").as_uri()


@pytest.fixture(autouse=True)
def no_problems(browser: Chromium) -> Iterator[None]:
    """Every test ends without errors, dialogs or requests for anything but pages."""
    browser.problems.clear()
    browser.requests.clear()
    browser.resize(*WIDE)
    yield
    assert browser.problems == []
    assert [
        url
        for url in browser.requests
        if not url.startswith(("data:", "about:")) and not url.endswith((".html", "/"))
    ] == []


def pass_number(browser: Chromium, name: str) -> str:
    """Return the number of the first pass of a name."""
    names = browser.run(
        "[...document.querySelectorAll('.pass')].map(p => [p.querySelector('.name').textContent,"
        " p.dataset.pass])"
    )
    return next(number for title, number in names if title == name)


def go(browser: Chromium, address: str) -> None:
    browser.run(f"location.hash = {address!r}")
    browser.run("new Promise(done => setTimeout(done, 30))")
    browser.settle()


def go_to_pass(browser: Chromium, name: str, rest: str = "view=ir") -> None:
    go(browser, f"pass={pass_number(browser, name)}&{rest}")


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


def test_unchanged_stretches_and_functions_are_folded(browser: Chromium, tmp_path: Path):
    chain = [f"  %{k + 1} = graph.relu %{k} : tensor<4xf32>\n" for k in range(40)]
    chain.insert(20, "  %dead = graph.exp %3 : tensor<4xf32>\n")
    head = "func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {\n"
    text = f"{head}{''.join(chain)}  func.return %40 : tensor<4xf32>\n}}\n"
    page = tmp_path / "page.html"
    nn_opt.explore(text, "dce", page)
    browser.open(page.as_uri())
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


def test_keys_walk_through_the_passes(browser: Chromium, text_page: str):
    browser.open(text_page)
    first = browser.text(".pass[aria-selected=true] .name")
    browser.press("j")
    second = browser.text(".pass[aria-selected=true] .name")
    assert (first, second) == ("canonicalize", "fold-constants")
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


def test_the_graph_marks_what_the_pass_made(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "fuse-ops", "view=graph")
    assert "fused conv" in browser.text(".node.touched")
    go_to_pass(browser, "stream-softmax", "view=graph")
    assert browser.count(".node") > 0
    assert browser.count(".node.touched") == 0


def test_what_an_op_means_is_beside_its_life(browser: Chromium, text_page: str):
    browser.open(text_page)
    go(browser, "pass=-1&view=ir&line=main::3&tab=trail")
    assert "graph.relu" in browser.text(".about")
    assert len(browser.text(".about")) > len("graph.relu ")


def test_the_graph_is_drawn(browser: Chromium, model_page: str):
    browser.open(model_page)
    go(browser, "pass=-1&view=graph")
    assert browser.count(".node") > 20
    assert browser.count(".edge") > 20
    apart = browser.run(
        """(() => {
          const boxes = [...document.querySelectorAll('.node-frame')].map(n => n.getBBox());
          return boxes.every((a, i) => boxes.every((b, j) => i >= j || a.x + a.width <= b.x ||
            b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y));
        })()"""
    )
    assert apart
    downwards = browser.run(
        """[...document.querySelectorAll('.edge')].every(edge => {
          const [from, to] = [edge.dataset.from, edge.dataset.to].map(
            k => document.querySelector(`.node[data-node="${k}"] .node-frame`).getBBox());
          return from.y + from.height < to.y;
        })"""
    )
    assert downwards


def test_a_node_leads_to_its_line_and_its_node_of_the_model(browser: Chromium, model_page: str):
    browser.open(model_page)
    go_to_pass(browser, "fuse-ops", "view=graph")
    pooling = browser.run(
        "[...document.querySelectorAll('.node')].findIndex(n => n.textContent.includes('pool'))"
    )
    browser.click(".node", pooling)
    assert browser.count(".node.chosen") == 1
    assert "Pool(" in browser.text(".from-source")
    browser.press("2")
    assert "graph.fused" in browser.text(".cell.after.chosen")


def test_schedules_are_shown_between_the_loops(browser: Chromium, text_page: str):
    browser.open(text_page)
    browser.press("4")
    before, script, after = browser.run(
        "[...document.querySelectorAll('.third .window')].map(window => window.textContent)"
    )
    assert "loop.block" in before
    assert "sched.script for @conv_relu_0" in script
    assert "unroll" in after
    assert "unroll" not in before


def test_a_schedule_can_be_followed_primitive_by_primitive(browser: Chromium, text_page: str):
    browser.open(text_page)
    browser.press("4")
    seen: list[str] = []
    for _ in range(5):
        browser.press("n")
        seen.append(browser.text(".third .cell.chosen").strip())
    assert all("sched." in line for line in seen)
    assert len(set(seen)) == 5
    assert browser.count(".third .row.added") > 0
    browser.press("p")
    assert browser.text(".third .cell.chosen").strip() == seen[3]
    browser.click("#all-primitives")
    assert browser.count(".third .cell.chosen") == 0


def test_buffers_are_drawn_by_time_and_address(browser: Chromium, model_page: str):
    browser.open(model_page)
    browser.press("5")
    assert browser.count(".box") > 5
    assert browser.text(".peak-label").startswith("peak: ")
    overlapping = browser.run(
        """(() => {
          const boxes = [...document.querySelectorAll('.box rect')].map(n => n.getBBox());
          return boxes.filter((a, i) => boxes.some((b, j) => i < j && a.x + a.width - 1 > b.x + 1 &&
            b.x + b.width - 1 > a.x + 1 && a.y + a.height - 1 > b.y + 1 &&
            b.y + b.height - 1 > a.y + 1)).length;
        })()"""
    )
    assert overlapping <= browser.count(".box") / 3  # what is overwritten in place shares a step
    browser.run("document.querySelector('.box').dispatchEvent(new PointerEvent('pointerenter'))")
    assert "bytes " in browser.text(".hover")
    browser.run("document.querySelector('.box').dispatchEvent(new MouseEvent('click'))")
    browser.settle()
    assert browser.count(".box.chosen") >= 1
    assert "plan-memory" in browser.text(".trail")


CODE = ".halves > :last-child"
BESIDE = ".halves > :first-child"


def test_generated_code_has_a_tab_for_each_language(browser: Chromium, text_page: str):
    browser.open(text_page)
    go(browser, "view=code&fn=conv_relu_0")
    titles = "[...document.querySelectorAll('.segments button')].map(b => b.textContent)"
    assert browser.run(titles) == ["LLVM IR", "Assembly"]
    assert browser.text(f"{CODE} .cell").startswith("define")
    browser.click(".segments button", 1)
    assert "conv_relu_0" in browser.text(f"{CODE} .window")
    assert "define" not in browser.text(f"{CODE} .window")
    browser.click(".segments button", 0)


def first_cell(browser: Chromium, pane: str, words: str) -> int:
    """Return which of the cells of a pane in sight has one of some words."""
    number = browser.run(
        f"[...document.querySelectorAll('{pane} .cell')]"
        f".findIndex(cell => /{words}/.test(cell.textContent))"
    )
    assert number >= 0
    return number


def test_an_op_leads_to_its_instructions_and_back_to_the_source(browser: Chromium, text_page: str):
    browser.open(text_page)
    go(browser, "view=code&fn=conv_relu_0")
    browser.click(".segments button", 1)
    browser.click(f"{BESIDE} .cell", first_cell(browser, BESIDE, "math.fma"))
    assert "math.fma" in browser.text(f"{BESIDE} .cell.chosen")
    marked = browser.run(
        f"[...document.querySelectorAll('{CODE} .cell.related')].map(cell => cell.textContent)"
    )
    assert any("vfmadd" in line for line in marked)
    assert "graph.conv" in browser.text(".from-source")
    browser.click(f"{CODE} .cell", first_cell(browser, CODE, "vfmadd"))
    assert "vfmadd" in browser.text(f"{CODE} .cell.chosen")
    assert "math.fma" in browser.text(f"{BESIDE} .cell.related")
    browser.click(".segments button", 0)
    assert "fma" in browser.text(f"{CODE} .cell.chosen")


def test_the_ir_beside_the_code_is_that_of_any_level(browser: Chromium, text_page: str):
    browser.open(text_page)
    go(browser, "view=code&fn=conv_relu_0&line=main::3&at=0")
    level = "select[aria-label='IR beside the code']"
    assert "loop.for" in browser.text(f"{BESIDE} .window")
    number = int(pass_number(browser, "convert-graph-to-tensor")) + 1
    change = "dispatchEvent(new Event('change'))"
    browser.run(f'(s => {{ s.value = {number}; s.{change} }})(document.querySelector("{level}"))')
    assert "tensor.compute" in browser.text(f"{BESIDE} .window")
    assert browser.count(f"{BESIDE} .cell.related") > 0
    browser.run(f'(s => {{ s.value = -1; s.{change} }})(document.querySelector("{level}"))')
    assert browser.count(".halves.alone") == 1


def test_the_overview_sums_up(browser: Chromium, text_page: str):
    browser.open(text_page)
    browser.press("1")
    assert browser.count(".column") == len(nn_opt.Pipeline("compile").passes) + 1
    assert "llvm" in browser.text(".legends")
    assert "fuse-ops" in browser.text(".times")


def test_remarks_and_statistics_are_beside_the_pass(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "fuse-ops")
    said = browser.text(".inspector-body")
    assert "kernels-formed" in said
    assert "--fuse-ops{max-depth=" in said
    go_to_pass(browser, "canonicalize")
    assert "fired" in browser.text(".inspector-body")


def test_text_of_the_module_cannot_break_out(browser: Chromium, text_page: str):
    browser.open(text_page)
    for view in range(1, 7):
        browser.press(str(view))
        assert browser.count("#app img, #app script") == 0
    go(browser, "pass=-1&view=ir")
    assert ATTACK in browser.run("document.querySelector('.ir .window').textContent")
    go(browser, "pass=-1&view=graph")
    assert ATTACK in browser.text(".graph-picture")
    go(browser, "pass=-1&view=ir&fn=" + ATTACK.replace("<", "%3C"))
    assert browser.count("#app img, #app script") == 0


def test_the_policy_stops_what_would_break_out(browser: Chromium, text_page: str):
    browser.open(text_page)
    browser.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1';"
        " document.body.append(s); })()"
    )
    browser.settle()
    assert browser.run("window.broken === undefined")
    assert len(browser.problems) == 1
    assert "Content Security Policy" in browser.problems[0]
    browser.problems.clear()


def test_a_failing_pass_is_shown_first(browser: Chromium, tmp_path: Path):
    page = tmp_path / "page.html"
    assert nn_opt.explore(TEXT, "cse,convert-tensor-to-loop,dce", page).error is not None
    browser.open(page.as_uri())
    assert browser.text(".pass.failed .name") == "convert-tensor-to-loop"
    assert browser.text(".pass[aria-selected=true] .name") == "convert-tensor-to-loop"
    assert "has no rule for it" in browser.text(".notice")
    assert browser.count(".pass.skipped") == 1


def test_a_notebook_shows_the_page_in_a_frame(browser: Chromium, tmp_path: Path):
    wrapper = tmp_path / "notebook.html"
    frame = nn_opt.explore(TEXT, "cse,canonicalize")._repr_html_()
    wrapper.write_text(f'<!DOCTYPE html><meta charset="utf-8">{frame}')
    browser.open(wrapper.as_uri())
    ready = "document.querySelector('.pass[aria-selected=true] .name')?.textContent"
    deadline = time.monotonic() + 30
    while browser.run_in_frame(ready) != "canonicalize" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert browser.run_in_frame(ready) == "canonicalize"
    browser.run_in_frame("document.querySelectorAll('.pass')[1].click()")
    assert browser.run_in_frame(ready) == "cse"
    assert browser.run_in_frame("location.hash") in ("", "#pass=0")


def test_help_lists_the_keys(browser: Chromium, text_page: str):
    browser.open(text_page)
    browser.press("?")
    assert browser.run("document.querySelector('dialog.help').open")
    browser.press("Escape")
    browser.click("#help")
    assert browser.run("document.querySelector('dialog.help').open")


def test_everything_that_can_be_pressed_has_a_name(browser: Chromium, model_page: str):
    browser.open(model_page)
    nameless = (
        "[...document.querySelectorAll('button, select, input, [role=button], [role=region]')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.textContent).trim())"
        ".map(e => e.outerHTML)"
    )
    for view in range(1, 7):
        browser.press(str(view))
        assert browser.run(nameless) == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_window_shows_one_pane(browser: Chromium, text_page: str, dark: bool):
    browser.resize(*NARROW, dark=dark)
    browser.open(text_page)
    go_to_pass(browser, "fuse-ops")
    assert browser.count(".ir.unified") == 1
    width = browser.run("document.documentElement.scrollWidth")
    assert width <= NARROW[0]
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark


def aligned(browser: Chromium, left: list[str], right: list[str]) -> list[tuple[int, int]]:
    """Return what `alignLines` of diff.js does, which imports nothing."""
    text = files("nn_opt.explorer").joinpath("web", "diff.js").read_bytes()
    address = f"data:text/javascript;base64,{base64.b64encode(text).decode()}"
    browser.open("about:blank")  # a page without a policy
    return browser.run(f"import('{address}').then(diff => diff.alignLines({left}, {right}))")


@pytest.mark.parametrize("seed", range(20))
def test_aligned_lines_are_equal_in_order_and_complete(browser: Chromium, seed: int):
    coin = random.Random(seed)
    left = [f"line {coin.randrange(1 + seed * 3)}" for _ in range(coin.randrange(60))]
    right = [line for line in left if coin.random() < 0.8]
    for _ in range(coin.randrange(10)):
        right.insert(coin.randrange(len(right) + 1), f"new {coin.randrange(3)}")
    if seed % 4 == 0:
        coin.shuffle(right)
    pairs = aligned(browser, left, right)
    assert [i for i, _ in pairs if i >= 0] == list(range(len(left)))
    assert [j for _, j in pairs if j >= 0] == list(range(len(right)))
    assert all(left[i] == right[j] for i, j in pairs if i >= 0 and j >= 0)
    if not seed % 4 == 0 and left:
        assert sum(i >= 0 and j >= 0 for i, j in pairs) >= len(left) * 0.5


def test_numbers_of_values_make_no_difference(browser: Chromium):
    left, right = ["%1 = a.b %0", "%x_1 = c %y"], ["  %7 = a.b %3", "%x_2 = c %y"]
    pairs = aligned(browser, left, right)
    assert pairs == [[0, 0], [1, 1]]


def test_the_server_ends_quietly(browser: Chromium, tmp_path: Path):
    source = tmp_path / "in.mlir"
    source.write_text(TEXT)
    command = [sys.executable, "-m", "nn_opt.driver", "--explore", "--cse", str(source)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        browser.open(address)
        assert browser.text(".pass[aria-selected=true] .name") in ("cse", "input")
        source.write_text(TEXT.replace("@main", "@renamed"))
        browser.open(address)
        assert "@renamed" in browser.text(".ir .window")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read().strip() == ""


def test_a_failure_is_served_and_then_said(browser: Chromium, tmp_path: Path):
    source = tmp_path / "in.mlir"
    source.write_text(TEXT)
    passes = ["--fuse-ops", "--convert-tensor-to-loop"]
    command = [sys.executable, "-m", "nn_opt.driver", "--explore", *passes, str(source)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "note: a pass failed; the page shows where\n"
        browser.open(process.stderr.readline().split()[0])
        assert browser.text(".pass.failed .name") == "convert-tensor-to-loop"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 1
        assert "error: graph.fused" in process.stderr.read()
