"""Small models that are compiled ahead of time."""

from __future__ import annotations

import pytest
from samples import Sample, sample, sample_of, tiny_network


@pytest.fixture(scope="session")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample_of("mlp", tmp_path_factory.mktemp("mlp"), "a model.onnx")


@pytest.fixture(scope="session")
def mobilenet(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample_of("mobilenet_v2", tmp_path_factory.mktemp("mobilenet"), "mobilenet.onnx")


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(tiny_network(), tmp_path_factory.mktemp("network") / "network.onnx")
