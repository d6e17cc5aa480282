"""A session of an editor with the language server, over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

URI = "file:///folder/of%20mine/m.mlir"
TEXT = """// é𝄞 and other comments
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
Answer = Callable[["Editor"], Awaitable[None]]


class Editor:
    """The client's side: opens a text, asks, and keeps what the server says of it."""

    def __init__(self) -> None:
        self.client = LanguageClient("test", "1")
        self.messages: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.document = lsp.TextDocumentIdentifier(URI)

        def keep(params: lsp.PublishDiagnosticsParams) -> None:
            self.messages.put_nowait(params)

        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(keep)

    async def start(self) -> None:
        await self.client.start_io(sys.executable, "-m", "nn_opt.driver", "lsp")
        capabilities = lsp.ClientCapabilities()
        await self.client.initialize_async(lsp.InitializeParams(capabilities))

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        item = lsp.TextDocumentItem(URI, "mlir", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return list((await self.messages.get()).diagnostics)

    async def change(self, text: str) -> list[lsp.Diagnostic]:
        identifier = lsp.VersionedTextDocumentIdentifier(2, URI)
        whole = lsp.TextDocumentContentChangeWholeDocument(text)
        params = lsp.DidChangeTextDocumentParams(identifier, [whole])
        self.client.text_document_did_change(params)
        return list((await self.messages.get()).diagnostics)

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()


def session(talk: Answer) -> None:
    """Run a conversation with a server of its own."""

    async def run() -> None:
        editor = Editor()
        await editor.start()
        await talk(editor)
        await editor.stop()

    asyncio.run(asyncio.wait_for(run(), timeout=60))


def place(text: str, word: str, number: int = 0) -> lsp.Position:
    """Return the position of an occurrence of a word."""
    at = -1
    for _ in range(number + 1):
        at = text.index(word, at + 1)
    before = text[:at].split("\n")
    return lsp.Position(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)


def test_messages_follow_the_text():
    async def talk(editor: Editor) -> None:
        assert await editor.open(TEXT) == []
        wrong = TEXT.replace(
            "-> tensor<4xf32>\n  func.return %y", "-> tensor<5xf32>\n  func.return %y"
        )
        (found,) = await editor.change(wrong)
        assert found.severity is lsp.DiagnosticSeverity.Error
        assert found.range.start == place(wrong, "%y", 1)
        assert found.range.end.character == found.range.start.character + len("%y")
        assert "tensor<5xf32>" in found.message
        (found,) = await editor.change(TEXT.replace("@main", "@twice"))
        assert found.range.start == place(TEXT, "func.func", 1)
        assert "symbol @twice is defined twice" in found.message
        (found,) = await editor.change("// 𝄞\nfunc.func @f() {\n  %0 = graph.nothing\n}\n")
        assert found.range.start == lsp.Position(2, 7)
        assert "unknown operation 'graph.nothing'" in found.message
        assert await editor.change(TEXT) == []

    session(talk)


def test_hovering_names_types_and_documentation():
    async def talk(editor: Editor) -> None:
        await editor.open(TEXT)

        async def hover(word: str, number: int = 0) -> str:
            position = place(TEXT, word, number)
            params = lsp.HoverParams(editor.document, position)
            answer = await editor.client.text_document_hover_async(params)
            return "" if answer is None else getattr(answer.contents, "value", "")

        assert "%y : tensor<4xf32>" in await hover("%y", 1)
        assert "result of `graph.add` at /folder/of mine/m.mlir:3:8" in await hover("%y", 1)
        assert "argument of func.func" in await hover("%x", 1)
        assert "(tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)" in await hover("graph.add")
        assert "func.func @twice : (tensor<4xf32>) -> tensor<4xf32>" in await hover("@twice", 1)
        assert await hover("comments") == ""

    session(talk)


def test_definitions_and_references_keep_functions_apart():
    async def talk(editor: Editor) -> None:
        await editor.open(TEXT)
        client: Any = editor.client
        context = lsp.ReferenceContext(include_declaration=True)
        where = place(TEXT, "%x", 4)  # in @main
        params = lsp.DefinitionParams(editor.document, where)
        found = await client.text_document_definition_async(params)
        assert found.range.start == place(TEXT, "%x", 3)
        question = lsp.ReferenceParams(context, editor.document, where)
        found = await client.text_document_references_async(question)
        assert [use.range.start for use in found] == [place(TEXT, "%x", k) for k in (3, 4)]
        params = lsp.DefinitionParams(editor.document, place(TEXT, "@twice", 1))
        found = await client.text_document_definition_async(params)
        assert found.range.start == place(TEXT, "func.func")
        question = lsp.ReferenceParams(context, editor.document, place(TEXT, "@twice"))
        found = await client.text_document_references_async(question)
        assert [use.range.start for use in found] == [place(TEXT, "@twice", k) for k in (0, 1)]

    session(talk)


def test_symbols_and_completion():
    async def talk(editor: Editor) -> None:
        await editor.open(TEXT)
        params = lsp.DocumentSymbolParams(editor.document)
        found: Any = await editor.client.text_document_document_symbol_async(params)
        assert [symbol.name for symbol in found] == ["twice", "main"]

        async def complete(text: str) -> list[str]:
            await editor.change(text)
            end = lsp.Position(text.count("\n"), len(text.rpartition("\n")[2]))
            question = lsp.CompletionParams(editor.document, end)
            items: Any = await editor.client.text_document_completion_async(question)
            return [item.label for item in items]

        assert await complete(TEXT + "graph.leaky") == ["graph.leaky_relu"]
        assert "graph." in await complete(TEXT + "gra")
        assert await complete(TEXT + "@tw") == ["@twice"]
        assert await complete(TEXT + "%") == ["%x", "%y"]

    session(talk)


def test_a_use_before_its_definition_is_known():
    text = """func.func @f() {
  cf.br ^first
^second:
  %twice = arith.addi %late, %late : i32
  func.return
^first:
  %late = arith.constant 1 : i32
  cf.br ^second
}
"""

    async def talk(editor: Editor) -> None:
        await editor.open(text)
        params = lsp.DefinitionParams(editor.document, place(text, "%late"))
        found: Any = await editor.client.text_document_definition_async(params)
        assert found.range.start == place(text, "%late =")

    session(talk)


def test_without_its_package_the_server_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from nn_opt.driver import main

    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    monkeypatch.delitem(sys.modules, "nn_opt.language_server.server", raising=False)
    assert main(["lsp"]) == 1
    assert "pip install 'nn-opt[lsp]'" in capsys.readouterr().err
