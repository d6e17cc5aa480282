"""Every code block of the documentation does what the page says."""

from __future__ import annotations

import pytest
from doc_blocks import ROOT, pages, steps_of

MOST_NOT_RUN = 8  # blocks of all pages that may go without a run


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_page(server, path):
    problems = server.problems(path)
    assert not problems, problems


def test_few_blocks_are_not_run_and_each_says_why():
    reasons = [
        step.notes["not run"]
        for path in pages()
        for step in steps_of(path)
        if "not run" in step.notes
    ]
    assert all(len(reason.split()) > 1 for reason in reasons)
    assert len(reasons) <= MOST_NOT_RUN, reasons
