"""`nn-opt lsp`: the Language Server Protocol on standard input and output, through pygls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from nn_opt import __version__
from nn_opt.ir.diagnostics import Diagnostic
from nn_opt.ir.parsing import make_context
from nn_opt.language_server.describe import describe_operation, describe_symbol, describe_value
from nn_opt.language_server.index import Index, Lines, Range, index_text

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
    "note": lsp.DiagnosticSeverity.Information,
}
WORD = re.compile(r"[%@^]?[\w$.-]*$")
Question = lsp.HoverParams | lsp.DefinitionParams | lsp.ReferenceParams | lsp.CompletionParams


class Server(LanguageServer):
    """Keeps an index of each open text."""

    def __init__(self) -> None:
        super().__init__("nn-opt", __version__)  # pyright: ignore[reportUnknownMemberType]
        self.indices: dict[str, Index] = {}

    def refresh(self, uri: str) -> None:
        """Read a text anew, and tell the editor what is wrong with it."""
        document = self.workspace.get_text_document(uri)
        index = self.indices[uri] = index_text(document.source, _path(uri))
        lines = Lines.of(index.text)
        found = [_diagnostic(uri, lines, d) for d in index.diagnostics]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, document.version)
        )

    def at(self, params: Question) -> tuple[Index, Lines, int]:
        """Return the index, the lines, and the offset that a question is about."""
        index = self.indices[params.text_document.uri]
        lines = Lines.of(index.text)
        return index, lines, lines.offset(params.position.line, params.position.character)


def _path(uri: str) -> str:
    return unquote(urlsplit(uri).path) or uri


def _range(lines: Lines, place: Range) -> lsp.Range:
    start, end = (lsp.Position(*lines.position(offset)) for offset in place)
    return lsp.Range(start, end)


def _diagnostic(uri: str, lines: Lines, found: Diagnostic) -> lsp.Diagnostic:
    notes = [
        lsp.DiagnosticRelatedInformation(
            lsp.Location(uri, _range(lines, _word(lines, note))), note.message
        )
        for note in found.notes
    ]
    text = f"{found.text}\nhint: {found.hint}" if found.hint else found.text
    return lsp.Diagnostic(
        _range(lines, _word(lines, found)),
        text,
        severity=SEVERITIES[found.severity],
        source="nn-opt",
        related_information=notes or None,
    )


def _word(lines: Lines, found: Diagnostic) -> Range:
    """Return the word that a message is about; the first character if it has no place."""
    if found.position is None:
        return 0, 0
    _, line, column = found.position
    start = min(lines.starts[min(line, len(lines.starts)) - 1] + column - 1, len(lines.text))
    match = re.compile(r'[%@^#!"]?[\w$.]+"?|.?').match(lines.text, start)
    return start, match.end() if match else start


def make_server() -> Server:
    """Return a server with all that it can do."""
    server = Server()
    server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.feature(lsp.TEXT_DOCUMENT_HOVER)(_hover)
    server.feature(lsp.TEXT_DOCUMENT_DEFINITION)(_definition)
    server.feature(lsp.TEXT_DOCUMENT_REFERENCES)(_references)
    server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(_document_symbols)
    options = lsp.CompletionOptions(trigger_characters=["%", "@", "."])
    server.feature(lsp.TEXT_DOCUMENT_COMPLETION, options)(_completion)
    return server


def _opened(server: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    server.refresh(params.text_document.uri)


def _changed(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    server.refresh(params.text_document.uri)


def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    del server.indices[params.text_document.uri]


def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    index, _, offset = server.at(params)
    if (value := index.value_at(offset)) is not None:
        text = describe_value(value)
    elif (op := index.operation_at(offset)) is not None:
        text = describe_operation(op)
    elif found := _symbol(index, offset):
        text = describe_symbol(*found[1:])
    else:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))


def _symbol(index: Index, offset: int):
    """Return the place, operation and name of the symbol at an offset."""
    wanted = index.symbol_at(offset)
    found = ((place, op, name) for name, place, op in index.symbols() if name == wanted)
    return next(found, None)


def _definition(server: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    index, lines, offset = server.at(params)
    uri = params.text_document.uri
    value = index.value_at(offset)
    if value is not None and value in index.definitions:
        return lsp.Location(uri, _range(lines, index.definitions[value]))
    found = _symbol(index, offset)
    return lsp.Location(uri, _range(lines, found[0])) if found else None


def _references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    index, lines, offset = server.at(params)
    value = index.value_at(offset)
    places = index.places_of(value) if value is not None else list(_mentions(index, offset))
    return [lsp.Location(params.text_document.uri, _range(lines, place)) for place in places]


def _mentions(index: Index, offset: int) -> Iterator[Range]:
    """Yield where the symbol at an offset is named."""
    name = index.symbol_at(offset)
    if name is not None:
        for match in re.finditer(rf"@{re.escape(name)}(?![\w$.-])", index.text):
            yield match.span()


def _document_symbols(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    index = server.indices[params.text_document.uri]
    lines = Lines.of(index.text)
    return [
        lsp.DocumentSymbol(
            name,
            lsp.SymbolKind.Function if op.name.endswith("func") else lsp.SymbolKind.Object,
            _range(lines, place),
            _range(lines, place),
            detail=op.name,
        )
        for name, place, op in index.symbols()
    ]


def _completion(server: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    index, lines, offset = server.at(params)
    start = lines.text.rfind("\n", 0, offset) + 1
    match = WORD.search(lines.text[start:offset])
    word = match[0] if match else ""
    kind = lsp.CompletionItemKind.Function
    if word.startswith("%"):
        names = {f"%{value.name_hint}" for value in index.definitions if value.name_hint}
        kind = lsp.CompletionItemKind.Variable
    elif word.startswith("@"):
        names = {f"@{name}" for name, _, _ in index.symbols()}
    else:
        names = _operation_names(word)
    edit = lsp.Range(
        lsp.Position(*lines.position(offset - len(word))), lsp.Position(*lines.position(offset))
    )
    return [
        lsp.CompletionItem(name, kind=kind, text_edit=lsp.TextEdit(edit, name))
        for name in sorted(names)
        if name.startswith(word)
    ]


def _operation_names(word: str) -> set[str]:
    """Return the names of dialects, or of the operations of the one that is named."""
    dialect, dot, _ = word.partition(".")
    context = make_context()
    known = context.registered_dialect_names
    if not dot:
        return {f"{name}." for name in known}
    if dialect not in known:
        return set()
    return {op.name for op in context.get_dialect(dialect).operations}


def main() -> None:
    """Serve one editor."""
    make_server().start_io()
