"""ES modules in node, by each engine, and WebAssembly modules alone."""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tools
from chromium import Chromium
from samples import Sample

from nn_opt.ahead_of_time.kinds import KINDS
from nn_opt.driver.compile import main

SCRIPT = """\
import { readFileSync, writeSync } from "node:fs";
import { create, inputs, outputs } from "./a%20net.mjs";
const model = await create(process.argv[2] ? { engines: process.argv[2].split(",") } : {});
const bytes = readFileSync(0);
const x = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
if (inputs[0].array !== "Float32Array" || outputs.length !== 1) throw new Error("the lists");
const [y] = model.run([x]), again = [new Float32Array(y.length)];
if (model.run([x], again)[0] !== again[0]) throw new Error("given arrays are not filled");
if (y.some((value, k) => value !== again[0][k])) throw new Error("another result");
for (const wrong of [[], [new Float32Array(3)], [new Int32Array(x.length)]]) {
  try {
    model.run(wrong);
    console.error("no error");
  } catch (error) {
    console.error(error.message);
  }
}
console.error(model.engine);
writeSync(1, new Uint8Array(y.buffer));
"""


@pytest.fixture(scope="session")
def folder(network: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an ES module and all that it loads."""
    made = tmp_path_factory.mktemp("web")
    assert main([str(network.path), "-o", str(made / "a net.mjs")]) == 0
    (made / "script.mjs").write_text(SCRIPT)
    return made


def run(folder: Path, x: np.ndarray, *words: str, flags: tuple[str, ...] = ()):
    command = [tools.need("node"), *flags, "script.mjs", *words]
    return subprocess.run(command, cwd=folder, input=x.tobytes(), capture_output=True, check=False)


@tools.needs("node", "wasm-ld")
@pytest.mark.parametrize(
    ("engines", "chosen"),
    [("wasm-relaxed", "wasm-relaxed"), ("wasm", "wasm"), ("js", "js"), ("js,wasm", "js")],
)
def test_engines(folder: Path, network: Sample, engines: str, chosen: str):
    done = run(folder, network.x, engines, flags=tools.relaxed_flags(tools.need("node")))
    assert done.returncode == 0, done.stderr.decode()
    got = np.frombuffer(done.stdout, np.float32).reshape(network.y.shape)
    np.testing.assert_allclose(got, network.y, rtol=1e-4, atol=1e-4)
    size = network.x.size
    wrong = f"{network.name} is a Float32Array of {size}, not a"
    assert done.stderr.decode().splitlines()[-4:] == [
        "the model has 1 inputs, not 0",
        f"{wrong} Float32Array of 3",
        f"{wrong} Int32Array of {size}",
        chosen,
    ]


@tools.needs("node", "wasm-ld")
def test_recurrences(recurrent: Sample, tmp_path: Path):
    assert main([str(recurrent.path), "-o", str(tmp_path / "a net.mjs")]) == 0
    (tmp_path / "script.mjs").write_text(SCRIPT)
    for engine in ("wasm", "js"):
        done = run(tmp_path, recurrent.x, engine)
        assert done.returncode == 0, done.stderr.decode()
        got = np.frombuffer(done.stdout, np.float32).reshape(recurrent.y.shape)
        np.testing.assert_allclose(got, recurrent.y, rtol=1e-5, atol=1e-6)


@pytest.fixture
def site(folder: Path) -> Iterator[str]:
    """Return the address under which the folder is served."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@tools.needs("browser", "wasm-ld")
def test_a_browser(chromium: Chromium, folder: Path, site: str, network: Sample):
    (folder / "empty.html").write_text("<!doctype html><title>empty</title>")
    chromium.open(f"{site}/empty.html")
    for engine in ("wasm-relaxed", "wasm", "js"):
        y = chromium.run(
            f"""import("{site}/a%20net.mjs").then(async ({{ create }}) => {{
              const model = await create({{ engines: ["{engine}"] }});
              const x = Float32Array.from({json.dumps(network.x.reshape(-1).tolist())});
              return [...model.run([x])[0]];
            }})"""
        )
        np.testing.assert_allclose(y, network.y.reshape(-1), rtol=1e-4, atol=1e-4)


@tools.needs("node", "wasm-ld")
def test_an_engine_that_is_not_there(folder: Path, network: Sample):
    done = run(folder, network.x, "abacus")
    assert b"Error: no engine of abacus is here" in done.stderr


@tools.needs("wasm-ld")
def test_all_engines_share_weights(folder: Path):
    suffixes = ["", ".json", ".plain.mjs", ".relaxed.wasm", ".wasm", ".weights"]
    names = [f"a net.mjs{suffix}" for suffix in suffixes]
    rest = {"script.mjs", "empty.html"} & {path.name for path in folder.iterdir()}
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, *rest])
    said = json.loads((folder / "a net.mjs.json").read_text())
    assert said["engines"] == {
        "wasm-relaxed": "a net.mjs.relaxed.wasm",
        "wasm": "a net.mjs.wasm",
        "js": "a net.mjs.plain.mjs",
    }


@tools.needs("node")
def test_plain_javascript_alone(mlp: Sample, tmp_path: Path):
    assert main([str(mlp.path), "--target", "js", "-o", str(tmp_path / "a net.mjs")]) == 0
    names = [f"a net.mjs{suffix}" for suffix in ("", ".json", ".plain.mjs", ".weights")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    (tmp_path / "script.mjs").write_text(SCRIPT)
    done = run(tmp_path, mlp.x)
    assert done.returncode == 0, done.stderr.decode()
    got = np.frombuffer(done.stdout, np.float32).reshape(mlp.y.shape)
    np.testing.assert_allclose(got, mlp.y, rtol=1e-5, atol=1e-6)


@tools.needs("wasm-ld")
def test_a_module_alone(mlp: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(mlp.path), "-o", str(tmp_path / "net.wasm")]) == 0
    assert "net.wasm: code " in capsys.readouterr().out
    said = json.loads((tmp_path / "net.wasm.json").read_text())
    assert said["weights"]["file"] == "net.wasm.weights"
    assert said["weights"]["bytes"] == (tmp_path / "net.wasm.weights").stat().st_size
    assert (tmp_path / "net.wasm").read_bytes()[:4] == b"\0asm"


def test_kinds_for_the_web():
    assert {suffix for suffix, kind in KINDS.items() if "wasm" in kind.families} == {
        ".ll",
        ".s",
        ".wasm",
        ".mjs",
        ".html",
    }
