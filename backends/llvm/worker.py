"""LLVM IR text into code by llvmlite alone; also a program of its own.

LLVM ends the process where it cannot make code of something, so code for other machines is made
in a process that may end. It needs nothing but llvmlite: it starts in a tenth of a second.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import llvmlite.binding  # pyright: ignore[reportMissingTypeStubs]

llvm: Any = llvmlite.binding

OBJECT, ASSEMBLY = "object", "assembly"
DONE, REFUSED, UNKNOWN = b"done\n", b"refused\n", b"unknown\n"  # what an answer begins with


@dataclass(frozen=True)
class Job:
    """What to make: `parts` are linked in order, and so is what they need of `libraries`."""

    parts: Sequence[str]  # LLVM IR
    triple: str
    cpu: str = ""
    features: str = ""
    abi: str = ""
    output: str = OBJECT  # or ASSEMBLY
    passes: int = 0  # the level of LLVM's own passes
    codegen: int = 3  # the level of code generation
    reloc: str = "pic"
    comments: bool = False  # in the assembly: what goes to and comes from the stack
    public: Sequence[str] | None = None  # the functions that others see; None: as they stand
    libraries: Sequence[str] = ()  # files of LLVM bitcode
    options: Sequence[str] = ()  # LLVM's, such as -disable-lsr=true


class Refused(Exception):
    """LLVM's parser or verifier finds a mistake in the text."""


class UnknownTarget(Exception):
    """This LLVM has no such target."""


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def machine_of(job: Job) -> Any:
    """Return LLVM's description of a job's machine.

    Raises: UnknownTarget.
    """
    _initialize()
    try:
        known = llvm.Target.from_triple(job.triple)
    except RuntimeError as error:
        raise UnknownTarget(str(error)) from error
    return known.create_target_machine(
        cpu=job.cpu,
        features=job.features,
        opt=job.codegen,
        reloc=job.reloc,
        codemodel="small",
        abiname=job.abi,
    )


def parsed(text: str, triple: str, layout: str, context: Any) -> Any:
    """Return LLVM's module for LLVM IR text.

    Raises: Refused.
    """
    try:
        module = llvm.parse_assembly(text, context)
        module.triple, module.data_layout = triple, layout
        module.verify()
    except RuntimeError as error:
        raise Refused(str(error)) from error
    return module


def made(job: Job) -> bytes:
    """Return what a job asks for.

    Raises: Refused, UnknownTarget.
    """
    machine = machine_of(job)
    machine.set_asm_verbosity(job.comments)
    module = _linked(job, str(machine.target_data))
    if job.passes:
        tuning = llvm.create_pipeline_tuning_options(speed_level=job.passes)
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
    if job.output == OBJECT:
        return machine.emit_object(module)
    return machine.emit_assembly(module).encode()


def _linked(job: Job, layout: str) -> Any:
    context = llvm.create_context()
    module, *others = [parsed(part, job.triple, layout, context) for part in job.parts]
    for other in others:
        module.link_in(other)
    for path in job.libraries:
        with open(path, "rb") as file:
            library = llvm.parse_bitcode(file.read(), context)
        library.triple, library.data_layout = job.triple, layout
        module.link_in(library)
    if job.public is not None:
        _hide(module, frozenset(job.public))
    return module


def _hide(module: Any, public: frozenset[str]) -> None:
    """Let nobody but the module itself see what it defines, save for what is public."""
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name not in public:
            if not symbol.name.startswith("llvm."):
                symbol.linkage = "internal"


def to_json(job: Job) -> bytes:
    """Return a job as the program reads it."""
    return json.dumps(asdict(job)).encode()


def main() -> None:
    """Read a job; write what it made, or why it could not be made."""
    with suppress(ImportError):  # where there are no limits, there are no core files
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # LLVM's end is no fault to be kept
    job = Job(**json.loads(sys.stdin.buffer.read()))
    for option in job.options:
        llvm.set_option("nn-opt", option)
    try:
        answer = DONE + made(job)
    except Refused as error:
        answer = REFUSED + str(error).encode()
    except UnknownTarget as error:
        answer = UNKNOWN + str(error).encode()
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    main()
