"""`compile`: from a source to a `Model`. With a warm cache, no part of the compiler is imported."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nn_opt
from nn_opt.collector import quiet_collector
from nn_opt.engines import build_for, engine_of, program_of, refuse_profile
from nn_opt.origin import Dims, Origin, ShapeMap, origin_of
from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.cache import Cache, key_of, open_cache
from nn_opt.runtime.llvm import llvm
from nn_opt.runtime.loader import RuntimeFault
from nn_opt.runtime.manifest import Manifest
from nn_opt.runtime.memory import Block
from nn_opt.runtime.model import Model, Shapes
from nn_opt.runtime.program import Program
from nn_opt.runtime.threads import thread_count
from nn_opt.runtime.weights import Pack, pack_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

    from nn_opt.ir.target import Target
    from nn_opt.staged.batches import Batches
    from nn_opt.staged.program import Stages

Progress = Callable[[str, int, int], None]  # what runs now, its number, how many there are
HOST = ("cpu", "host")
LINKED = (
    "backends",
    "conversion",
    "dialects",
    "frontends",
    "passes",
    "reference",
    "runtime",
    "schedule",
)


def compile(
    source: str | os.PathLike[str] | bytes | ModelProto | ModuleOp,
    *,
    target: str = "cpu",
    threads: int | None = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    winograd: str = "auto",
    precision: str = "f32",
    deterministic: bool = False,
    debug_info: bool = False,
    cache: bool | str | Path = True,
    progress: Progress | None = None,
) -> Model:
    """Return a model that can be called, compiled now or taken from the cache.

    Sizes that neither the model nor `dims` (by name) nor `shapes` (by input) states are those of
    the inputs at each first call with them. `values` are inputs, or what nodes compute, that shall
    be constants of the code. `cache` is the folder to use, or False for none.
    `winograd` "auto" lets 3x3 convolutions multiply less where that is faster, at an error of some
    1e-5 of the outputs instead of 1e-6; "off" does not. `precision` "bf16" lets convolutions and
    matmuls multiply in bf16, at an error of some 1e-2 of the outputs, on a machine that can.
    `deterministic` results have the same bits on machines with any width of vectors; with any
    number of threads, all results have. `debug_info` lets debuggers and profilers name the model's
    nodes; the code is the same.

    Raises: DiagnosticError, VerifyException or PassFailedException for a model that cannot be
    compiled, RuntimeFault for one that cannot run on this machine, TypeError for no model at all.

    >>> import nn_opt, numpy
    >>> module = nn_opt.parse('''
    ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    ...   %y = graph.relu %x : tensor<3xf32>
    ...   func.return %y : tensor<3xf32>
    ... }''')
    >>> model = nn_opt.compile(module, cache=False)
    >>> model(numpy.float32([-1, 0, 2])).tolist()
    [0.0, 0.0, 2.0]
    """
    _require_name(target)
    count = thread_count(threads) if not engine_of(target) else 1  # engines have one
    builder = Builder(
        origin_of(source, values), target, dims or {}, shapes or {}, open_cache(cache)
    )
    builder.progress = progress
    builder.options = f"winograd={winograd} precision={precision}"
    builder.deterministic = deterministic
    builder.debug_info = debug_info
    return Model(builder.signature(), builder, count)


def _require_name(target: object) -> None:
    if not isinstance(target, str):
        raise TypeError(f"target is {target!r}, expected a name such as 'cpu'")


class Builder:
    """The compiler's side of a `Model`: builds a program for each set of shapes, or loads it."""

    progress: Progress | None = None
    options: str = ""  # of the pipeline
    deterministic: bool = False
    debug_info: bool = False

    def __init__(
        self, origin: Origin, target: str, dims: Dims, shapes: ShapeMap, cache: Cache
    ) -> None:
        self._origin = origin
        self._target = target
        self._dims = {name: int(size) for name, size in dims.items()}
        self._shapes = {name: [int(size) for size in shape] for name, shape in shapes.items()}
        self._cache = cache
        self._key = ""
        self._manifest: Manifest | None = None

    def signature(self) -> Manifest:
        """Return the model's inputs and outputs, from the cache or from the model."""
        binding = json.dumps([self._dims, self._shapes, self.deterministic], sort_keys=True)
        if self._cache.folder is not None:
            stamp = [nn_opt.__version__, sources_stamp(), machine_stamp(self._target), binding]
            stamp += ["debug", *self._origin.places()] if self.debug_info else []
            self._key = key_of([*stamp, self.options, *self._origin.content()])
        known = self._cache.load(self._key)
        if known is not None and self._is_current(known.manifest):
            self._manifest = known.manifest
        else:
            with quiet_collector():
                self._manifest = self._origin.signature(self._dims, self._shapes)
            self._cache.store(self._key, Artifact(self._manifest, b"", Block(0)))
        return self._manifest

    def _is_current(self, manifest: Manifest) -> bool:
        """Return whether the files of weights beside the model are still those of the entry."""
        wanted = dict(manifest.external or {})
        return self._origin.beside(sorted(wanted)) == wanted

    def program(self, shapes: Shapes, *, profile: bool = False) -> Any:
        """Return what runs the model for inputs of these shapes: one program, or several."""
        assert self._manifest is not None, "the signature comes first"
        engine = engine_of(self._target)
        if not engine:
            require_runnable(self._target)
        elif profile:
            refuse_profile(engine)
        if self._manifest.hosted:
            return self._stages.planned()
        key = key_of([self._content, json.dumps([shapes, profile])])
        known = self._cache.load(key)
        if known is not None and known.manifest.cut:
            return self._stages.known(shapes, key, known.manifest.cut)
        by_rows = not (self._manifest.is_static or engine or profile or self.deterministic)
        if known is None and by_rows and (served := self._batches.serving(shapes)):
            return served
        try:
            program = self._exact(shapes, key, known, profile)
        except _needs() as need:
            return self._stages.cut(shapes, key, need)
        if by_rows:
            self._batches.note(shapes, program)
        return program

    def _exact(
        self, shapes: Shapes, key: str = "", known: Artifact | None = None, profile: bool = False
    ) -> Program:
        """Return a program for exactly these shapes."""
        key = key or key_of([self._content, json.dumps([shapes, profile])])
        known = known or self._cache.load(key)
        return self.load(known or self.build(key, partial(self._module, shapes), profile))

    @cached_property
    def _batches(self) -> Batches:
        from nn_opt.staged.batches import Batches

        assert self._manifest is not None, "the signature comes first"
        return Batches(self._manifest, self._module, self._exact, self._origin.reads_sizes)

    @property
    def _content(self) -> str:
        """The key of the model together with the files of weights beside it."""
        assert self._manifest is not None, "the signature comes first"
        external = sorted((self._manifest.external or {}).items())
        return key_of([self._key, json.dumps(external)])

    @cached_property
    def _stages(self) -> Stages:
        from nn_opt.staged.program import Stages

        assert self._manifest is not None, "the signature comes first"
        model = partial(self._origin.prepared, host=self._manifest.hosted)
        return Stages(self, self._content, self._manifest, model)

    def fetch(self, key: str) -> Artifact | None:
        """Return what the cache has of a key."""
        return self._cache.load(key)

    def build(self, key: str, make: Callable[[], ModuleOp], profile: bool = False) -> Artifact:
        """Return a module compiled, and keep it; what `make` raises passes through."""
        if profile and (engine := engine_of(self._target)):
            refuse_profile(engine)
        return self._cache.fill(key, lambda pack: self._built(make, profile, pack))

    def keep_cut(self, key: str, cut: str) -> None:
        """Keep where the model of a key is cut."""
        self._cache.store(key, Artifact(Manifest((), (), cut=cut), b"", Block(0)))

    def load(self, artifact: Artifact) -> Program:
        """Return what runs an artifact."""
        engine = engine_of(self._target)
        return program_of(engine, artifact) if engine else Program(artifact)

    def artifact(
        self, shapes: Shapes, *, profile: bool = False, pack: Pack = pack_weights
    ) -> Artifact:
        """Return the compiled form for inputs of these shapes."""
        return self._built(partial(self._module, shapes), profile, pack)

    def _built(self, make: Callable[[], ModuleOp], profile: bool, pack: Pack) -> Artifact:
        with quiet_collector():
            from nn_opt.build import build

            module = make()
            if engine := engine_of(self._target):
                return self._for_engine(engine, module, pack)
            return build(
                module,
                self._target,
                self.options,
                deterministic=self.deterministic,
                profile=profile,
                debug_info=self.debug_info,
                progress=self.progress,
                pack=pack,
            )

    def _for_engine(self, engine: str, module: ModuleOp, pack: Pack) -> Artifact:
        return build_for(
            engine,
            module,
            self._target,
            self.options,
            pack=pack,
            deterministic=self.deterministic,
            debug_info=self.debug_info,
            progress=self.progress,
        )

    def text(self, level: str, shapes: Shapes) -> str:
        """Return the IR at a level, for inputs of these shapes."""
        return self.module_text(level, self._module(shapes))

    def module_text(self, level: str, module: ModuleOp) -> str:
        """Return a module, which is consumed, at a level."""
        from nn_opt.build import level_text

        return level_text(
            module,
            self._target,
            level,
            self.options,
            deterministic=self.deterministic,
            debug_info=self.debug_info,
        )

    def _module(self, shapes: Shapes) -> ModuleOp:
        assert self._manifest is not None, "the signature comes first"
        named = {i.name: list(s) for i, s in zip(self._manifest.inputs, shapes, strict=True)}
        return self._origin.module(self._dims, named)


def _needs() -> tuple[type[Exception], ...]:
    """Return what the importer raises for what takes stages; only an error imports it."""
    from nn_opt.staged.regions import needs

    return needs()


def require_runnable(target: str) -> None:
    """Raise RuntimeFault if code for a target cannot run in this process."""
    if target in HOST:
        return
    from nn_opt.ir.target import host, target_named

    machine, here = target_named(target), host()
    same_kind = machine.architecture == here.architecture
    missing = _missing(machine, here) if same_kind else []
    if not same_kind or machine.vector_bytes > here.vector_bytes or missing:
        lacks = f", which lacks {', '.join(missing)}" if missing else ""
        raise RuntimeFault(
            f"error: code for {target!r} cannot run on this {here.cpu}{lacks}"
            "\n  hint: the target 'cpu' is this machine; nn-compile makes code for others"
        )


def _missing(machine: Target, here: Target) -> list[str]:
    """Return what code for a machine may use and this one has not.

    Raises: DiagnosticError for a processor that is not known.
    """
    from nn_opt.backends.llvm.cpu_checks import features_of

    stated = [word[1:] for word in machine.features.split(",") if word.startswith("+")]
    known = [] if machine.cpu == here.cpu else features_of(machine)
    return [name for name in dict.fromkeys([*known, *stated]) if not here.has(name)]


def machine_stamp(target: str) -> str:
    """Return all that generated code depends on besides the model and the compiler."""
    version = ".".join(map(str, llvm.llvm_version_info))
    if target not in HOST:
        return f"{target} {version}"
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features} {version}"


@lru_cache(maxsize=1)
def sources_stamp() -> str:
    """Return a digest of the compiler's own files by size and time: an edit voids old entries."""
    digest = hashlib.sha256()
    for root in _source_folders():
        for folder, inner, names in os.walk(root, followlinks=True):
            inner.sort()
            for name in sorted(names):
                if name.endswith((".py", ".ll")):
                    state = os.stat(os.path.join(folder, name))
                    digest.update(f"{folder}/{name} {state.st_size} {state.st_mtime_ns}".encode())
    return digest.hexdigest()


def _source_folders() -> list[Path]:
    """Return the package's folder, and those that lie beside it where links are missing."""
    package = Path(nn_opt.__file__).resolve().parent
    beside = [package.parent / name for name in LINKED if not (package / name).is_dir()]
    return [package, *beside]
