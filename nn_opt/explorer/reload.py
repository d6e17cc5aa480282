"""The page of a server, made anew by another process when what it was made from has changed."""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from nn_opt.compiler import sources_stamp

_FAILED = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>nn-opt explorer</title>
<h1>There is no module to show</h1>
<pre>{}</pre>
<p>Reload this page when the file is right again.</p>
</html>
"""


@dataclass
class FreshPage:
    """A page and the files that it depends on, besides those of the compiler itself.

    arguments: of the nn-opt that makes the page anew; `-o FILE` is added.
    """

    page: str
    files: Sequence[Path]
    arguments: Sequence[str]
    _stamp: Any = None
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._stamp = self._current_stamp()

    def current(self) -> str:
        """Return the page for the files as they are now."""
        with self._lock:
            stamp = self._current_stamp()
            if stamp != self._stamp:
                self._stamp, self.page = stamp, self._make()
            return self.page

    def _current_stamp(self) -> Any:
        sources_stamp.cache_clear()
        return sources_stamp(), [_state(file) for file in self.files]

    def _make(self) -> str:
        with tempfile.TemporaryDirectory(prefix="nn-opt-") as folder:
            target = Path(folder, "page.html")
            command = [sys.executable, "-m", "nn_opt.driver", *self.arguments, "-o", str(target)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if target.is_file():
                return target.read_text(encoding="utf-8")
            return _FAILED.format(html.escape(done.stderr))


def _state(file: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
