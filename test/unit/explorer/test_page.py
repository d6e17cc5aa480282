"""The page as a file: one piece, nothing from outside, nothing of the data as markup."""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import pytest
from pages import data_of

from nn_opt.explorer import page
from nn_opt.explorer.code import assembly_pieces, llvm_pieces
from nn_opt.explorer.page import joined_program, page_html
from nn_opt.explorer.reload import FreshPage
from nn_opt.explorer.serve import make_server, url_of
from nn_opt.explorer.sources import text_source
from nn_opt.ir.diagnostics import DiagnosticError

ATTACK = '</script><img src=x onerror="alert(1)">'


def test_data_and_title_cannot_become_markup():
    text = page_html({"note": ATTACK}, ATTACK)
    assert ATTACK not in text
    assert "<img" not in text
    assert "<title>&lt;/script&gt;" in text


def test_only_the_page_s_own_program_and_style_may_run():
    text = page_html({}, "t")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    for tag, directive in (('<script type="module">', "script-src"), ("<style>", "style-src")):
        end = f"</{tag[1:].split()[0].strip('>')}>"
        inner = text.split(tag)[1].split(end)[0]
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert "unsafe" not in policy[1]


def test_nothing_is_asked_for_from_outside():
    text = page_html({}, "t")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?!data:)\w""", text)
    assert set(re.findall(r"https?://[^\s\"'`]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in text
    assert "eval(" not in text
    assert "document.write" not in text


def test_every_module_is_part_of_the_program():
    program = joined_program()
    for file in files("nn_opt.explorer").joinpath("web").iterdir():
        if file.name.endswith(".js"):
            first = file.read_text(encoding="utf-8").split("\n")[0]
            assert first.startswith("// "), file.name
            assert first in program, file.name


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    texts: dict[str, str] = {}
    monkeypatch.setattr(page, "web_text", texts.__getitem__)
    joined_program.cache_clear()
    yield texts
    joined_program.cache_clear()


def test_modules_are_joined_in_the_order_of_imports(modules: dict[str, str]):
    modules["main.js"] = 'import { a } from "./a.js";\nimport { b } from "./b.js";\na(b);\n'
    modules["a.js"] = 'import { b } from "./b.js";\nexport function a() {}\n'
    modules["b.js"] = "export const b = 1;\n"
    assert joined_program().split() == "const b = 1; function a() {} a(b);".split()


def test_two_modules_may_not_define_one_name(modules: dict[str, str]):
    modules["main.js"] = 'import { a } from "./a.js";\nconst same = 1;\n'
    modules["a.js"] = "export const a = 1;\nfunction same() {}\n"
    with pytest.raises(ValueError, match=r"main\.js and a\.js both define same"):
        joined_program()


def test_an_import_that_cannot_be_joined_is_refused(modules: dict[str, str]):
    modules["main.js"] = 'import * as a from "./a.js";\n'
    with pytest.raises(ValueError, match="the modules cannot be joined: import"):
        joined_program()


@contextmanager
def served(text: str) -> Iterator[ThreadingHTTPServer]:
    server = make_server(lambda: text, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(
    server: ThreadingHTTPServer, method: str, path: str, host: str
) -> http.client.HTTPResponse:
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={"Host": host.replace("PORT", str(port))})
    return connection.getresponse()


def test_the_page_is_served_to_names_of_this_machine_only():
    with served("<p>è</p>") as server:
        assert url_of(server) == f"http://127.0.0.1:{server.server_address[1]}/"
        found = answer(server, "GET", "/", "127.0.0.1:PORT")
        assert (found.status, found.read().decode()) == (200, "<p>è</p>")
        assert found.headers["X-Frame-Options"] == "DENY"
        assert answer(server, "GET", "/", "localhost:PORT").status == 200
        assert answer(server, "GET", "/", "evil.example:PORT").status == 403
        assert answer(server, "GET", "/etc/passwd", "localhost:PORT").status == 404
        head = answer(server, "HEAD", "/", "localhost:PORT")
        assert (head.status, head.read()) == (200, b"")
        assert answer(server, "POST", "/", "localhost:PORT").status == 501


def test_a_port_in_use_is_refused():
    with served("") as server:
        port = server.server_address[1]
        with pytest.raises(DiagnosticError, match=f"error: cannot serve on 127.0.0.1:{port}: "):
            make_server(str, "127.0.0.1", port)
    with pytest.raises(DiagnosticError, match=r"cannot serve on 127\.0\.0\.1:70000: "):
        make_server(str, "127.0.0.1", 70000)


def test_llvm_ir_is_split_where_functions_end():
    text = "declare void @f(ptr)\ndefine internal void @k.par0(i64 %n) {\nb0:\n  ret void\n}\n\n"
    text += 'define void @"a b"() {\nb0:\n  ret void\n}\n!0 = !{}\n'
    debug = text.replace("ret void", "ret void, !dbg !2").replace(") {", ") !dbg !1 {")
    debug += '!1 = distinct !DISubprogram(name: "k", line: 5, unit: !0)\n'
    debug += "!2 = !DILocation(line: 9, column: 1, scope: !1)\n"
    pieces = llvm_pieces(text, debug)
    assert [piece.name for piece in pieces] == ["k.par0", "a b", ""]
    assert pieces[0].text == "define internal void @k.par0(i64 %n) {\nb0:\n  ret void\n}"
    assert pieces[0].ops == (4, -1, 8, -1)
    assert pieces[2].text == "declare void @f(ptr)\n!0 = !{}"


def test_assembly_is_split_at_the_types_of_functions():
    text = "\t.text\n\t.type\tf,@function\nf:\n\t.loc\t1 7 1\n\tnop\n\tret\n"
    text += "\t.type\tg,%function\ng:\n.Ltmp0:\n\tret\n\t.section\t.debug_abbrev\n\tret\n"
    outside, *pieces = reversed(assembly_pieces(text))
    assert outside.text == "\t.text"
    assert [(piece.name, piece.ops) for piece in reversed(pieces)] == [
        ("f", (-1, -1, 6, 6)),
        ("g", (-1, -1, -1)),
    ]
    assert pieces[0].text == "\t.type\tg,%function\ng:\n\tret"


def test_names_in_the_text_say_where_a_location_is():
    source = text_source("x.mlir", 'a\n%1 = op loc("the node")\n')
    assert source.named == {"the node": 1}


def test_a_page_is_made_anew_when_its_file_has_changed(tmp_path: Path):
    source = tmp_path / "in.mlir"
    source.write_text("func.func @first() {\n  func.return\n}\n")
    arguments = ["--explore", "--cse", str(source)]
    page = FreshPage("as it was", [source], arguments)
    assert page.current() == "as it was"
    source.write_text("func.func @second_one() {\n  func.return\n}\n")
    made = page.current()
    assert "second_one" in str(data_of(made)["parts"])
    assert page.current() is made
    source.write_text("func.func @<b>\n")
    failed = page.current()
    assert "error" in failed
    assert "@&lt;b&gt;" in failed
    source.unlink()
    assert "No such file" in page.current()
