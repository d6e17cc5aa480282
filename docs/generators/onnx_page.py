"""The page of the ONNX operators, from the table of converters."""

from __future__ import annotations

import sys

from nn_opt.frontends.onnx.bounded import DOMAIN, REWRITES
from nn_opt.frontends.onnx.table import all_converters

CONVERTERS = all_converters()

INTRODUCTION = f"""# ONNX operators

What `nn_opt.compile`, `nn-run`, `nn-compile` and `nn-opt` take of ONNX. A model that needs anything
else is refused before anything is compiled, in one message that lists all such nodes.

<!-- hidden python
from onnx import TensorProto, helper, save
node = helper.make_node("Warp", ["x", "g"], ["y"], name="/warp", domain="com.acme")
shape = lambda name, sizes: helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
inputs = [shape("x", [1, 3, 8, 8]), shape("g", [1, 8, 8, 2])]
graph = helper.make_graph([node], "warp", inputs, [shape("y", [1, 3, 8, 8])])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
save(helper.make_model(graph, opset_imports=opsets), "warp.onnx")
-->
<!-- fails: 1 -->
```console
$ nn-opt warp.onnx
warp.onnx: error: 1 unsupported node(s):
  node '/warp': com.acme.Warp (opset 1): operator is not supported
  hint: {len(CONVERTERS)} operators are supported
```

An operator with a star is taken in part: some of its forms are refused, and the message says which.

Attentions in all their forms, those of com.microsoft as well, become the same few operations, so
that one [kernel](architecture.md#how-speed-comes-through-the-ir) holds each. Weights of MatMulNBits
and GatherBlockQuantized stay packed: numbers are made of them in registers.

Indices of Gather, GatherElements, GatherND, ScatterElements and ScatterND run from -n to n-1 along
an axis of n elements. A constant out of that range is an error when the model is compiled
([check-indices](passes.md#check-indices)). So is what an input holds when the model is called, if
the input is an index as it stands, or only cast, reshaped, transposed, cut or joined, as ids of
words are. Indices that the model computes are not checked: those of gathers name the nearest
element, those of scatters none. Nor are inputs of `run_on_device`, nor those of files that
`nn-compile` writes: who calls these must know what they hold.

Written by `docs/generate.py` from the table of converters.
"""


def onnx_page() -> str:
    """Return the text of docs/onnx.md."""
    families: dict[str, list[str]] = {}
    for (domain, name), converter in CONVERTERS.items():
        if domain == DOMAIN and (name not in REWRITES or ("", name) in CONVERTERS):
            continue  # what only rewritten models have
        name = f"{domain}.{name}" if domain.startswith("ai.") else name
        text = f"{name}*" if converter.refusal else name
        families.setdefault(converter.convert.__module__, []).append(text)
    parts = [INTRODUCTION]
    for module, names in sorted(families.items()):
        source = module.removeprefix("nn_opt.").replace(".", "/") + ".py"
        title = (sys.modules[module].__doc__ or "").split("\n")[0]
        heading = module.rpartition(".")[2].replace("_", " ").capitalize()
        parts.append(f"## {heading}\n\n{title}\n")
        parts.append(f"{', '.join(sorted(names))} ([source](../{source}))\n")
    return "\n".join(parts)
