"""Tests that name the tools they need are skipped, or fail, before their fixtures are made."""

import pytest
import tools


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs_tools(names): tools of support/tools.py")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs_tools"):
        for name in mark.args:
            tools.need(name)
