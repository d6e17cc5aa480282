"""The page of element types: the tables of the compiler, and what casts mean."""

from __future__ import annotations

from collections.abc import Sequence

from backends_page import table
from onnx import TensorProto
from xdsl.ir import Attribute

from nn_opt.conversion.to_tensor.scalar import storage, working
from nn_opt.frontends.onnx.packed import BITS, WORDS
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES
from nn_opt.ir.small_types import is_small
from nn_opt.ir.types import mlir_type

HEAD = """\
# Element types

What a tensor of a model may hold, what that is at each level, and how numbers become others.

{types}

`in memory`: an element takes so many bytes, in files of ONNX so many bits. `as` is the type below
the graph: integers have no sign there, which the operations know, and numbers of less than 8 bits,
and floats of 8, are bytes. The bits above those of a short number mean nothing and are written as
zeros. `computed as`: what operations read. f16 and bf16 are stored, sums and functions are those
of f32 and round once at the end. All backends that run a program in f32 run it with the types of
less than 8 bits and with float8, since all that reaches them are bytes, integers and f32;
[what each backend runs](backends.md) lists what was compared on each.

In Python, arrays of `ml_dtypes` go in and come out. In text, types are those of MLIR: `f8E4M3FN`,
`i4`, `ui2`; constants of 4 and 2 bits read as numbers, floats with an odd NaN as hexadecimal bytes.
Files of weights ([safetensors](https://github.com/huggingface/safetensors)) hold the types which
that format lacks as bytes, with the name in the header. Strings live on the host, complex numbers
are pairs of floats.
"""
RULES = """\
## Casts

`graph.cast` is ONNX's `Cast`, of all opsets, between any two of these types.

| From | To | Result |
|---|---|---|
| float | float | nearest, the even one of two; rounded once, also from f64 to any other |
| float | integer | toward zero; what is beyond the type, ONNX leaves open |
| integer | integer | the low bits |
| integer | float | nearest, the even one of two; rounded once, also from 64 bits |
| any | bool | false for 0 and -0, else true; NaN is true |
| bool | any | 1 or 0 |

Beyond an integer type it is what the processor's conversion to 32 or 64 bits gives, of which the
low bits stay. What is too large for a float of 32 or 16 bits becomes an infinity. To floats of
8 bits, `saturate` says:

| x | f8E4M3FN | f8E4M3FNUZ | f8E5M2 | f8E5M2FNUZ |
|---|---|---|---|---|
| too large, or infinite | 448 | 240 | 57344 | 57344 |
| the same, `saturate = 0` | NaN | NaN | infinity | NaN |
| -0 | -0 | 0 | -0 | 0 |
| NaN | NaN | NaN | NaN | NaN |

Floats of 6 and 4 bits always saturate; NaN becomes a zero, as in `ml_dtypes`. f8E8M0FNU holds
powers of two from 2^-127 to 2^127 and NaN. A number becomes the power of its size above it, below
it or nearest to it, the larger of two, as `round_mode` says (`up`, `down`, `nearest`); beyond the
ends, the last power or, with `saturate = 0`, NaN. `graph.bitcast` is ONNX's `BitCast`, between
types of as many bits.

On CPUs with vectors, matmuls and convolutions of half floats are those of f32, whose results are
rounded once (`--widen-products`); their constant weights become f32 when a model is compiled. GPUs
multiply half floats.

## Quantised numbers

- `QuantizeLinear` divides in the type of the scale, or in that of `precision`, rounds to even,
  adds the zero point and saturates. A scale of f8E8M0FNU divides in the type of x. Scales may be
  one, one for each place of an axis, or one for each block.
- `DequantizeLinear` multiplies in f32 and rounds once to the type of the scale or `output_dtype`.
- `QLinearConv` and `QLinearMatMul` are `round(sum * (left * right / result)) + zero`, the sum
  exact in 32 bits, the factor in the type of the scales: bit by bit what onnxruntime computes.
  `MatMulInteger` and `ConvInteger` are exact. Models of `QuantizeLinear` and `DequantizeLinear`
  around products become the same
  ([architecture](architecture.md#how-speed-comes-through-the-ir)).
- `DynamicQuantizeLinear` divides by the scale in f32, as the standard says, and rounds to even, bit
  by bit. Nothing but zeros has the scale 1, as in onnxruntime.
- A matrix of weights in 4 or 2 bits stays so, several numbers in a byte:
  `--recognize-block-weights` makes its product one operation, `graph.block_matmul`, which unpacks
  and scales numbers in registers. No copy in f32 exists, neither at compile time nor at run time.
  Where columns come in panels, its zero point is subtracted once a block, so that an infinite
  factor gives NaN in all columns, not only in those where its weight is 0. So does onnxruntime's
  MatMulNBits with `accuracy_level` 4, which makes factors bytes; with 0, infinities stay.
  Other numbers of few bits are unpacked where they are read; only weights of convolutions become
  f32 when a model is compiled.

`test/unit/conversion/test_casts.py` compares all pairs of types, in all values of up to 16 bits.
"""


def row(kind: int) -> Sequence[str]:
    """Return what is said of an element type of ONNX."""
    dtype = ELEMENT_DTYPES[kind]
    element = mlir_type(dtype)
    bits = BITS.get(kind, 8 * dtype.itemsize)
    packed = "" if kind not in BITS else f"{bits} bits" + ("" if bits in WORDS else ", raw only")
    return (
        TensorProto.DataType.Name(kind),
        f"`{dtype.name}`",
        f"`{element}`",
        str(dtype.itemsize) + (f" ({packed})" if packed else ""),
        f"`{storage(element)}`",
        f"`{computed(element)}`",
    )


def computed(element: Attribute) -> Attribute:
    """Return the type that operations read, as it is below the graph."""
    return storage(working(element))


def dtypes_page() -> str:
    """Return the page."""
    heads = ("ONNX", "NumPy", "graph", "bytes in memory", "as", "computed as")
    order = sorted(ELEMENT_DTYPES, key=lambda kind: is_small(mlir_type(ELEMENT_DTYPES[kind])))
    return HEAD.format(types=table(heads, [row(kind) for kind in order])) + "\n" + RULES
