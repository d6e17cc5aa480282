"""The page in a browser: graphs, schedules, memory, code, the run as a whole."""

from __future__ import annotations

from chromium import Chromium
from pages import go, go_to_pass, pass_number

import nn_opt


def test_the_graph_marks_what_the_pass_made(browser: Chromium, text_page: str):
    browser.open(text_page)
    go_to_pass(browser, "fuse-ops", "view=graph")
    assert "fused conv" in browser.text(".node.touched")
    go_to_pass(browser, "stream-softmax", "view=graph")
    assert browser.count(".node") > 0
    assert browser.count(".node.touched") == 0


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
