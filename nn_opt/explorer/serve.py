"""A server of one page, on this machine unless told otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from nn_opt.ir.diagnostics import DiagnosticError

LOOPBACK = "127.0.0.1"
_LOCAL = (LOOPBACK, "localhost")
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def serve(page: Callable[[], str], host: str = LOOPBACK, port: int = 0) -> None:
    """Serve what `page` returns until interrupted, and say where; port 0 is any that is free.

    Raises: DiagnosticError if the address cannot be had.
    """
    server = make_server(page, host, port)
    with server:
        sys.stderr.write(f"{url_of(server)}  (Ctrl-C ends)\n")
        sys.stderr.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stderr.write("\n")


def url_of(server: ThreadingHTTPServer) -> str:
    """Return the address to open."""
    host, port = server.server_address[:2]
    return f"http://{host!s}:{port}/"


def make_server(page: Callable[[], str], host: str, port: int) -> ThreadingHTTPServer:
    """Return a server that is bound and does not answer yet.

    Raises: DiagnosticError if the address cannot be had.
    """

    class Handler(_Handler):
        def content(self) -> bytes:
            return page().encode("utf-8")

    try:
        return ThreadingHTTPServer((host, port), Handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "\n  hint: --port names another port; the default is a free one"
        raise DiagnosticError(f"error: cannot serve on {host}:{port}: {reason}{hint}") from error


class _Handler(BaseHTTPRequestHandler):
    """Answers `/`; to a name of this machine only, so that no page elsewhere can read it."""

    server_version = "nn-opt"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if not self._is_meant():
            self.send_error(403)
            return
        if self.path.partition("?")[0] != "/":
            self.send_error(404)
            return
        body = self.content()
        self.send_response(200)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def content(self) -> bytes:
        """Return the page."""
        raise AssertionError("each server has handlers of its own")

    def _is_meant(self) -> bool:
        """Return whether the request names this server, not a name that now points here."""
        assert isinstance(self.server, ThreadingHTTPServer)
        bound = str(self.server.server_address[0])
        name = self.headers.get("Host", "").rpartition(":")[0]
        return name in _LOCAL if bound == LOOPBACK else True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal shows the address alone."""
