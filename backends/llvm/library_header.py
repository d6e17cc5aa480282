"""The C header of a library."""

from __future__ import annotations

from collections.abc import Sequence

from nn_opt.backends.llvm.library_glue import CODES, Interface
from nn_opt.runtime.manifest import TensorInfo

_HEADER = """\
/* {title}, compiled by nn-opt {version} for {target}. */
#ifndef {guard}_H
#define {guard}_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

/* Inputs, each row-major:
{inputs}
   Outputs:
{outputs} */
typedef struct {{
  const char *name;
  const char *dtype; /* float32, int64, uint8, bool, ... as NumPy calls them */
  int64_t rank;
  const int64_t *shape;
  int64_t bytes;
}} {name}_tensor;

/* What is known of input or output k, from 0 on; NULL where there are no more. */
const {name}_tensor *{name}_input(int64_t k);
const {name}_tensor *{name}_output(int64_t k);

#define {guard}_INPUTS {input_count}
#define {guard}_OUTPUTS {output_count}
#define {guard}_ARENA_BYTES {arena_bytes} /* of temporaries */

/* What a call returns. */
enum {{
{codes}
}};

/* What a code says; of {guard}_WRONG_CPU, what it is that the processor lacks. */
const char *{name}_message(int code);
{hosted}
/* The same with temporaries in memory of the caller's: {guard}_ARENA_BYTES bytes, aligned to 64.
   Calls that run at once need an arena each. */
int {name}_run_in(const void *const *inputs, void *const *outputs, void *arena);

/* The machine whose code runs on this processor: {variants}. NULL if it can run none. */
const char *{name}_variant(void);

/* All this as JSON. */
const char *{name}_description(void);

#ifdef __cplusplus
}}
#endif
#endif
"""
_HOSTED = """
/* Run the model. Each thread that calls keeps an arena for its next call, until it ends; several
   may call at once. */
int {name}_run(const void *const *inputs, void *const *outputs);

/* How many threads a call may use. */
extern int {name}_threads;
"""


def header(
    interface: Interface, arena_bytes: int, targets: Sequence[str], title: str, version: str
) -> str:
    """Return the C header of a library for some targets."""
    name, manifest = interface.name, interface.manifest
    rows = enumerate(CODES.items())
    return _HEADER.format(
        title=_in_comment(title),
        version=version,
        target=", ".join(targets),
        guard=name.upper(),
        name=name,
        arena_bytes=arena_bytes,
        inputs=_listing(manifest.inputs),
        outputs=_listing(manifest.outputs),
        input_count=len(manifest.inputs),
        output_count=len(manifest.outputs),
        codes="\n".join(f"  {name.upper()}_{word} = {k}, /* {says} */" for k, (word, says) in rows),
        hosted=_HOSTED.format(name=name) if interface.hosted else "",
        variants=" or ".join(targets),
    )


def _listing(infos: Sequence[TensorInfo]) -> str:
    return "\n".join(f"     [{k}] {_in_comment(str(info))}" for k, info in enumerate(infos))


def _in_comment(text: str) -> str:
    return text.replace("*/", "* /")
