"""Small models that are compiled ahead of time, and a browser for what is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tools
from chromium import Chromium
from samples import Sample, recurrences, sample, sample_of, tiny_network


@pytest.fixture(scope="session")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample_of("mlp", tmp_path_factory.mktemp("mlp"), "a model.onnx")


@pytest.fixture(scope="session")
def mobilenet(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample_of("mobilenet_v2", tmp_path_factory.mktemp("mobilenet"), "mobilenet.onnx")


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(tiny_network(), tmp_path_factory.mktemp("network") / "network.onnx")


@pytest.fixture(scope="session")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(recurrences(), tmp_path_factory.mktemp("recurrent") / "recurrent.onnx")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    with Chromium(Path(tools.need("browser"))) as browser:
        yield browser
