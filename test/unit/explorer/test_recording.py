"""What is kept of a run: text by function, the lines of ops, lineage, and what passes said."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pages import PLAIN as TEXT
from pages import data_of, explored, lines_of
from xdsl.context import Context
from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, UnknownLoc
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

import nn_opt
from bench.models import SMALL
from nn_opt.driver import main
from nn_opt.explorer import applications
from nn_opt.explorer.api import run_explored
from nn_opt.explorer.recorder import Recorder
from nn_opt.explorer.snapshots import FUNCTION, parts_of
from nn_opt.explorer.sources import text_source
from nn_opt.ir.parsing import make_context
from nn_opt.ir.printing import print_module


def origins_of(data: dict[str, Any], snapshot: int) -> list[list[int]]:
    """Return the numbers of the ops that each op of a snapshot came from."""
    before: dict[tuple[str, str], int] = {}
    position = 0
    for item in data["snapshots"][snapshot - 1]:
        before[item["kind"], item["name"]] = position
        position += len(data["parts"][item["part"]]["lines"])
    origins: list[list[int]] = []
    for item in data["snapshots"][snapshot]:
        if item["from"] == 0:
            count = len(data["parts"][item["part"]]["lines"])
            first = before[item["kind"], item["name"]]
            origins += [[first + k] for k in range(count)]
        else:
            origins += [found if isinstance(found, list) else [found] for found in item["from"]]
    return origins


def number(lines: list[str], start: str) -> int:
    """Return which line is the one that holds a text."""
    (found,) = (k for k, line in enumerate(lines) if start in line)
    return found


def test_parts_joined_are_the_module():
    module = nn_opt.parse(TEXT)
    for step in nn_opt.Pipeline("compile"):
        step.apply(make_context(), module)
        parts = parts_of(module)
        assert "\n".join(part.text for part in parts) + "\n" == print_module(module), step.name
        for part in parts:
            texts = part.text.split("\n")
            for op, line in zip(part.ops, part.lines, strict=True):
                assert op.name in texts[line], step.name


def test_each_function_is_a_part():
    module = nn_opt.parse(TEXT)
    for step in nn_opt.Pipeline("optimize-graph,outline-kernels"):
        step.apply(make_context(), module)
    functions = [part.name for part in parts_of(module) if part.kind == FUNCTION]
    assert functions == ["main", "conv_relu_0"]


def test_equal_parts_are_stored_once():
    data = explored(TEXT, "infer-shapes,cse,cse")
    assert [len(snapshot) for snapshot in data["snapshots"]] == [3, 3, 3, 3]
    assert len(data["parts"]) == 3


def test_ops_in_a_fused_region_come_from_those_outside():
    data = explored(TEXT, "canonicalize,fuse-ops")
    before, after, origins = lines_of(data, 1), lines_of(data, 2), origins_of(data, 2)
    for op in ("graph.conv", "graph.relu"):
        assert origins[number(after, op)] == [number(before, op)]
    assert origins[number(after, "graph.fused")][0] == number(before, "graph.conv")


def test_an_op_that_stays_when_another_goes_is_its_own_origin():
    data = explored(TEXT, "dce")
    before, after, origins = lines_of(data, 0), lines_of(data, 1), origins_of(data, 1)
    assert len(after) == len(before) - 1
    for k, line in enumerate(after):
        assert origins[k] == [before.index(line)]


def test_every_op_of_a_compiled_model_has_an_origin():
    data = explored(TEXT, "compile")
    for k in range(1, len(data["snapshots"])):
        lines, before = lines_of(data, k), len(lines_of(data, k - 1))
        for line, origins in zip(lines, origins_of(data, k), strict=True):
            assert origins, f"after {data['steps'][k - 1]['name']}: {line}"
            assert all(0 <= origin < before for origin in origins)


def test_places_lead_to_lines_of_the_source():
    data = explored(TEXT, "compile")
    last = data["snapshots"][-1]
    found: set[int] = set()
    for item in last:
        part = data["parts"][item["part"]]
        found |= {line for place in part["places"] for line in data["places"][place]}
    assert {1, 2} <= found <= set(range(len(TEXT.split("\n"))))


@pytest.mark.parametrize("name", ["squeezenet1_1", "bert_tiny", "lstm"])
def test_being_watched_changes_nothing(name: str):
    model = SMALL[name](name)
    alone, watched = nn_opt.import_model(model), nn_opt.import_model(model)
    pipeline = nn_opt.Pipeline("compile")
    pipeline.apply(make_context(), alone)
    pipeline.apply(make_context(), watched, [Recorder(watched, text_source("", ""), [], {})])
    assert print_module(watched, locations=True) == print_module(alone, locations=True)
    assert not any(isinstance(op.location, CallSiteLoc) for op in watched.walk())


def test_what_a_pass_says_and_counts_is_kept_with_it():
    data = explored(TEXT, "cse,fuse-ops")
    quiet, fuse = data["steps"]
    assert quiet["counts"] == []
    assert quiet["remarks"] == []
    assert ["kernels-formed", 2] in [row[:2] for row in fuse["counts"]]
    assert fuse["spec"].startswith("fuse-ops{max-depth=")
    assert fuse["doc"].startswith("Group ops into kernels")


def test_patterns_that_fired_name_the_ops_they_fired_on():
    data = explored(TEXT, "canonicalize")
    lines = lines_of(data, 0)
    fired = {name: ops for name, _, changed, ops in data["steps"][0]["rewrites"] if changed}
    relus = [k for k, line in enumerate(lines) if "graph.relu" in line]
    assert any(set(ops) & set(relus) for ops in fired.values())
    for name, tried, changed, ops in data["steps"][0]["rewrites"]:
        assert tried >= changed == len(ops), name


def test_the_function_is_kept_after_each_rewrite():
    data = explored(TEXT, "canonicalize")
    made = data["steps"][0]["applications"]
    fired = sum(changed for _, _, changed, _ in data["steps"][0]["rewrites"])
    assert len(made) == fired > 0
    assert {entry["function"] for entry in made} == {"main"}
    last = "\n".join(data["texts"][line] for line in made[-1]["text"])
    assert last.count("graph.relu") == 1
    assert data["steps"][0]["left_out"] == 0


def test_rewrites_beyond_a_limit_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(applications, "MOST_LINES", 1)
    relus = "".join(f"  %{k} = graph.relu %{k - 1} : tensor<4xf32>\n" for k in range(1, 6))
    head, end = (
        "func.func @f(%0: tensor<4xf32>) -> tensor<4xf32> {\n",
        "func.return %5 : tensor<4xf32>\n",
    )
    text = f"{head}{relus}  {end}}}\n"
    step = explored(text, "canonicalize")["steps"][0]
    assert len(step["applications"]) == 1
    assert step["left_out"] == 3


def test_a_graph_has_the_edges_of_the_operands():
    data = explored(TEXT, "fuse-ops")
    main = next(item for item in data["snapshots"][0] if item["name"] == "main")
    graph = data["parts"][main["part"]]["graph"]
    names = [node[1] for node in graph["nodes"]]
    assert names == ["x", "w", "graph.conv", "graph.relu", "graph.relu", "graph.exp", "outputs"]
    edges = {(source, target) for source, target, _ in graph["edges"]}
    assert edges == {(0, 2), (1, 2), (2, 3), (3, 4), (0, 5), (4, 6)}
    fused = next(item for item in data["snapshots"][1] if item["name"] == "main")
    rows = [node[4] for node in data["parts"][fused["part"]]["graph"]["nodes"]]
    assert ["graph.conv", "graph.relu", "graph.relu"] in [[n for n, _ in row] for row in rows]


def test_calls_on_buffers_have_the_edges_of_what_they_write_and_read():
    data = data_of(nn_opt.explore(two_kernels(), "compile").html)
    k = next(k for k, step in enumerate(data["steps"]) if step["name"] == "plan-memory") + 1
    main = next(item for item in data["snapshots"][k] if item["name"] == "main")
    graph = data["parts"][main["part"]]["graph"]
    calls = [k for k, node in enumerate(graph["nodes"]) if node[0] == "call"]
    edges = {(source, target) for source, target, _ in graph["edges"]}
    assert len(calls) == 2
    assert tuple(calls) in edges
    assert any(graph["nodes"][target][0] == "output" for source, target in edges)


def two_kernels() -> str:
    return TEXT.replace("%2 = graph.relu %1", "%2 = graph.softmax %1 axis 3").replace(
        "  %3 = graph.exp %x : tensor<1x3x8x8xf32>\n", ""
    )


def test_the_memory_plan_is_that_of_the_module():
    found = data_of(nn_opt.explore(two_kernels(), "compile").html)
    (memory,) = found["memory"].values()
    (box,) = memory["boxes"]
    assert box["end"] - box["start"] == 4 * 8 * 8 * 8
    assert memory["size"] == memory["lower_bound"] == box["end"]
    assert memory["steps"][box["first"]].startswith("conv")
    assert memory["steps"][box["last"]].startswith("softmax")
    (k,) = map(int, found["memory"])
    main = next(item for item in found["snapshots"][k] if item["name"] == "main")
    part = found["parts"][main["part"]]
    line = part["text"].split("\n")[sum(part["lines"][: box["op"] + 1])]
    assert "loop.view %arena" in line


class Stumble(ModulePass):
    """Erases the last op but the return, then fails."""

    name = "stumble"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = next(iter(op.ops)).regions[0].block
        last = block.last_op
        assert last is not None
        assert last.prev_op is not None
        last.prev_op.detach()
        raise PassFailedException("here: error: it did not work")


def test_a_failing_pass_is_shown_with_what_it_left():
    found = nn_opt.explore(TEXT, nn_opt.Pipeline("cse", Stumble(), "dce"))
    assert isinstance(found.error, PassFailedException)
    data = data_of(found.html)
    assert [step["name"] for step in data["steps"]] == ["cse", "stumble"]
    assert data["steps"][1]["error"] == data["error"] == "here: error: it did not work"
    assert data["steps"][0]["error"] == ""
    assert len(lines_of(data, 2)) == len(lines_of(data, 1)) - 1
    assert [member["step"] for member in data["pipeline"]] == [0, 1, None]


class Tangle(ModulePass):
    """Leaves a module that cannot be printed."""

    name = "tangle"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = next(iter(op.ops))
        function.properties.clear()
        raise PassFailedException("here: error: a tangle")


def test_what_cannot_be_printed_is_left_out():
    found = nn_opt.explore(TEXT, nn_opt.Pipeline(Tangle()))
    data = data_of(found.html)
    assert data["error"] == "here: error: a tangle"
    assert lines_of(data, 1) == lines_of(data, 0)


def test_an_instrument_that_objects_blames_the_pass():
    class Objection(nn_opt.Instrument):
        def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
            raise PassFailedException(f"not {step.name}")

    module = nn_opt.parse(TEXT)
    source = text_source("t", TEXT)
    pipeline = nn_opt.Pipeline("dce,cse")
    found = run_explored(make_context(), module, pipeline, source, instruments=[Objection()])
    data = data_of(found.html)
    assert data["steps"][0]["error"] == "not dce"
    assert len(data["snapshots"]) == 2
    assert len(data["steps"]) == 1


def test_a_model_is_shown_by_its_nodes(tmp_path: Path):
    model = SMALL["mlp"]("mlp")
    path = tmp_path / "mlp.onnx"
    path.write_bytes(model.SerializeToString())
    data = data_of(nn_opt.explore(path, "optimize-graph").html)
    assert data["source"]["kind"] == "onnx"
    assert data["source"]["name"] == str(path)
    nodes = model.graph.node
    assert len(data["source"]["lines"]) == len(nodes)
    assert f"{nodes[0].op_type}({', '.join(nodes[0].input)})" in data["source"]["lines"][0]
    main = next(item for item in data["snapshots"][0] if item["name"] == "main")
    part = data["parts"][main["part"]]
    named = {line for place in part["places"] for line in data["places"][place]}
    assert named == set(range(len(nodes)))


def test_a_module_in_memory_is_its_own_source():
    model = SMALL["mlp"]("mlp")
    module = nn_opt.import_model(model)
    data = data_of(nn_opt.explore(module, "compile").html)
    assert data["source"]["lines"] == print_module(module).split("\n")[:-1]
    last = lines_of(data, len(data["snapshots"]) - 1)
    places = [
        place for item in data["snapshots"][-1] for place in data["parts"][item["part"]]["places"]
    ]
    shown = {
        data["source"]["lines"][line].split(" = ")[-1].split()[0]
        for op, place in zip(last, places, strict=True)
        if "llvm.intr.fma" in op
        for line in data["places"][place]
    }
    assert {"graph.matmul", "graph.softmax"} <= shown


def test_ops_made_without_a_location_have_their_line():
    module = nn_opt.parse(TEXT)
    for op in module.walk():
        op.location = UnknownLoc()
    data = data_of(nn_opt.explore(module, "canonicalize").html)
    main = next(item for item in data["snapshots"][0] if item["name"] == "main")
    part = data["parts"][main["part"]]
    lines = [data["places"][place] for place in part["places"]]
    assert lines == [[k] for k in range(1, 7)]
    assert all(isinstance(op.location, UnknownLoc) for op in module.walk())


def test_a_page_can_be_written_and_framed(tmp_path: Path):
    found = nn_opt.explore(nn_opt.parse(TEXT), "cse", path=tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == found.html
    frame = found._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert 'sandbox="allow-scripts"' in frame
    assert frame.count("<") == 2


def test_a_schedule_is_shown_primitive_by_primitive():
    data = explored(TEXT, "compile")
    (step,) = (step for step in data["steps"] if step["stages"])
    assert step["name"] == "apply-schedule"
    stages = step["stages"]["conv_relu_0"]
    lines = [stage["line"] for stage in stages]
    assert lines[0] == 0
    assert lines == sorted(set(lines))
    k = data["steps"].index(step)
    items = [data["snapshots"][k], data["snapshots"][k + 1]]
    texts = [
        [data["parts"][item["part"]]["text"] for item in snapshot if item["name"] == "conv_relu_0"]
        for snapshot in items
    ]
    shown = ["\n".join(data["texts"][line] for line in stage["text"]) for stage in stages]
    assert shown[0] == textwrap.dedent(texts[0][0])
    assert shown[-1] == textwrap.dedent(texts[1][0])
    script = texts[0][1].split("\n")
    assert all(f"sched.{word}" in text for word in ("split", "vectorize") for text in texts[0][1:])
    for line, before, after in zip(lines[1:], shown, shown[1:], strict=False):
        if "sched.vectorize" in script[line]:
            assert after.count(" vector ") == before.count(" vector ") + 1


def test_a_script_that_is_refused_is_shown_as_far_as_it_goes():
    planned = nn_opt.Pipeline("lower-to-loops").passes[:4]
    text = print_module(nn_opt.Pipeline("canonicalize,fuse-ops", *planned).run(nn_opt.parse(TEXT)))
    text = text.replace(
        "sched.vectorize", 'sched.set_scope "nothing" in "register"\n sched.vectorize', 1
    )
    found = nn_opt.explore(text, "apply-schedule")
    assert "nothing" in str(found.error)
    stages = data_of(found.html)["steps"][0]["stages"]["conv_relu_0"]
    assert len(stages) > 2


def test_the_command_line_of_a_page_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source, page = tmp_path / "in.mlir", tmp_path / "page.html"
    source.write_text(TEXT)
    arguments = ["--explore", "--dce", "--target=x86-64-v3", "--no-verify-each", str(source)]
    arguments += ["-o", str(page)]
    monkeypatch.setattr("sys.argv", ["nn-opt", *arguments])
    assert main(arguments) == 0
    data = data_of(page.read_text())
    assert data["command"] == shlex.join(["nn-opt", *arguments])
    assert data["flags"] == "--target=x86-64-v3 --no-verify-each"
