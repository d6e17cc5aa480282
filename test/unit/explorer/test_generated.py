"""Generated code on the page: by function, in each language, each line with its op."""

from __future__ import annotations

import re

import pytest
from pages import PLAIN as TEXT
from pages import data_of, explored, lines_of

import nn_opt
from nn_opt.backends.llvm import print_module as print_llvm
from nn_opt.backends.llvm.object import emit_assembly
from nn_opt.ir.target import target_of


def test_generated_text_is_split_by_function():
    data = explored(TEXT, "compile")
    llvm, assembly = data["emitted"]
    assert [llvm["name"], assembly["name"]] == ["llvm-ir", "assembly"]
    for emitter in (llvm, assembly):
        names = [piece["name"] for piece in emitter["pieces"]]
        assert "nn_main" in names
        assert "conv_relu_0" in names
    kernel = next(piece for piece in llvm["pieces"] if piece["name"] == "conv_relu_0")
    assert kernel["text"].startswith("define")
    assert kernel["text"].endswith("}")
    kernel = next(piece for piece in assembly["pieces"] if piece["name"] == "conv_relu_0")
    assert "conv_relu_0:" in kernel["text"]
    assert "nn_main:" not in kernel["text"]


def test_nothing_is_generated_before_the_last_level():
    assert explored(TEXT, "optimize-graph")["emitted"] == []


def test_lines_of_generated_code_know_their_ops():
    data = explored(TEXT, "compile")
    ops = lines_of(data, len(data["snapshots"]) - 1)
    llvm, assembly = data["emitted"]
    checked = 0
    for piece in llvm["pieces"]:
        for line, op in zip(piece["text"].split("\n"), piece["ops"], strict=True):
            if word := re.search(r"^  (?:%\S+ = )?(store|load|br|getelementptr|call) ", line):
                assert op >= 0, line
                name = {"br": "br", "call": ""}.get(word[1], f"llvm.{word[1]}")
                assert name in ops[op], line
                checked += 1
    assert checked > 50
    instructions = [
        (line, op)
        for piece in assembly["pieces"]
        for line, op in zip(piece["text"].split("\n"), piece["ops"], strict=True)
        if re.match(r"\t[a-z]", line)
    ]
    assert sum(op >= 0 for _, op in instructions) > 0.9 * len(instructions)
    assert all("llvm." in ops[op] for _, op in instructions if op >= 0)


def test_the_assembly_shown_is_that_without_debug_information():
    data = explored(TEXT, "compile")
    module = nn_opt.Pipeline("compile").run(nn_opt.parse(TEXT))
    plain = emit_assembly(print_llvm(module), target_of(module))
    shown = "\n".join(piece["text"] for piece in data["emitted"][1]["pieces"])
    assert instructions_of(shown) == instructions_of(plain)


def instructions_of(text: str) -> list[str]:
    lines = [line.split("#")[0].rstrip() for line in text.split("\n")]
    return [line for line in lines if re.match(r"\t[a-z]", line)]


@pytest.mark.parametrize("pipeline", ["lower-to-c", "lower-to-js"])
def test_source_languages_are_tabs_of_a_planned_module(pipeline: str):
    data = explored(TEXT, f"optimize-graph,lower-to-loops,{pipeline}")
    c, js = data["emitted"]
    assert [c["title"], js["title"]] == ["C99", "JavaScript"]
    for emitter, entry in ((c, "model_run"), (js, "run")):
        pieces = {piece["name"]: piece["text"] for piece in emitter["pieces"]}
        assert list(pieces) == ["conv_relu_0", entry, "other"]
        assert pieces["conv_relu_0"].startswith("/* a kernel */\n")
        assert pieces["conv_relu_0"].endswith("\n}")
        assert "conv_relu_0(" in pieces[entry]


def test_kernels_are_tabs_in_each_language_for_gpus():
    text = f'builtin.module attributes {{nn.target = "opencl"}} {{\n{TEXT}\n}}'
    data = explored(text, "optimize-graph,lower-to-loops,lower-to-gpu")
    titles = [emitter["title"] for emitter in data["emitted"]]
    assert titles == ["OpenCL C", "CUDA C++", "Metal", "WGSL"]
    for emitter in data["emitted"]:
        *kernels, rest = emitter["pieces"]
        assert rest["name"] == "other"
        for piece in kernels:
            assert piece["name"].startswith("conv_relu_0")
            assert piece["text"].startswith("/* ")
            assert piece["text"].endswith("\n}")


def test_a_mistake_of_a_backend_costs_no_page(monkeypatch: pytest.MonkeyPatch):
    def fail(text: str, target: object, comments: bool) -> str:
        raise AssertionError("LLVM refuses the code generated for it")

    monkeypatch.setattr("nn_opt.backends.llvm.object.emit_assembly", fail)
    found = nn_opt.explore(TEXT, "compile")
    assert isinstance(found.error, AssertionError)
    data = data_of(found.html)
    assert data["error"] == "LLVM refuses the code generated for it"
    assert len(data["snapshots"]) == len(data["steps"]) + 1


def test_what_a_language_cannot_say_is_said():
    passes = (
        "lower-blocks",
        "partition-loops",
        "compact-buffers",
        "vectorize-loops",
        "plan-memory",
    )
    data = explored(TEXT, f"optimize-graph,lower-to-loops,{','.join(passes)}")
    (piece,) = data["emitted"][0]["pieces"]
    assert "error" in piece["text"]
    assert len(piece["ops"]) == piece["text"].count("\n") + 1
