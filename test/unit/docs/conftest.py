"""One process runs the pages of all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from doc_pages import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()
