"""The page as a guest of a browser: nothing breaks out; failures, frames, servers, widths."""

from __future__ import annotations

import base64
import random
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest
from chromium import Chromium
from pages import ATTACK, TEXT, go, go_to_pass

import nn_opt

NARROW = (600, 800)


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
