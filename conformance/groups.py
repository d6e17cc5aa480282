"""Which tests a figure is about: CORE, REAL-OPS, parts of the suite, element types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CORE_DTYPES = frozenset({"FLOAT", "INT64", "INT32", "BOOL"})
# Control flow, random numbers, losses, sequences, optionals and strings are counted apart.
BEYOND_CORE = frozenset(
    """
    If Loop Scan
    Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss
    ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert
    SequenceLength SequenceMap SplitToSequence Optional OptionalGetElement OptionalHasElement
    ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer
    """.split()
)
# Operators of some thirty networks: OCR, file types, speech, music, encoders of text, faces, and
# the classifiers that the suite itself brings.
OF_REAL_MODELS = frozenset(
    """
    Add And AveragePool BatchNormalization Clip Concat Constant ConstantOfShape Conv ConvTranspose
    Div Dropout Equal Erf Exp Expand Flatten Floor Gather GatherND Gemm GlobalAveragePool
    GlobalMaxPool GreaterOrEqual HardSigmoid HardSwish Identity IsNaN LRN LSTM LayerNormalization
    Log MatMul Max MaxPool Mul Neg Not PRelu Pad Pow Range Reciprocal ReduceMax ReduceMean
    ReduceMin ReduceSum Relu Reshape Resize Shape Sigmoid Size Slice Softmax Split Sqrt Squeeze Sub
    Sum Tanh Transpose Unsqueeze Where
    """.split()
)
NARROW = ("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2")


@dataclass(frozen=True)
class Facts:
    """What is known of a test without running it."""

    name: str
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]

    @property
    def part(self) -> str:
        """The part of the suite: node, simple, ..."""
        return self.name.partition("/")[0]

    @property
    def is_expanded(self) -> bool:
        """Whether the test has a function's body in place of the call."""
        return self.part == "node" and "_expanded" in self.name

    @property
    def is_plain(self) -> bool:
        """Whether the test is of operators themselves."""
        return self.part == "node" and not self.is_expanded

    def has_type(self, *beginnings: str) -> bool:
        """Return whether an element type, maybe in a sequence or optional, begins so."""
        inner = [dtype.rpartition("(")[2] for dtype in self.dtypes]
        return any(name.startswith(beginnings) for name in inner)


def is_core(facts: Facts) -> bool:
    """Return whether a test is of what nearly every model needs."""
    return (
        facts.is_plain
        and CORE_DTYPES.issuperset(facts.dtypes)
        and BEYOND_CORE.isdisjoint(facts.operators)
        and not any("." in operator for operator in facts.operators)
    )


def has_real_operators(facts: Facts) -> bool:
    """Return whether a CORE test is of operators that real models have."""
    return is_core(facts) and OF_REAL_MODELS.issuperset(facts.operators)


def _of_types(*beginnings: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.part == "node" and facts.has_type(*beginnings)


def _of_part(part: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.part == part


GROUPS: dict[str, Callable[[Facts], bool]] = {
    "all": lambda facts: True,
    "CORE": is_core,
    "REAL-OPS": has_real_operators,
    "node, operators": lambda facts: facts.is_plain,
    "node, function bodies": lambda facts: facts.is_expanded,
    "simple": _of_part("simple"),
    "pytorch-operator": _of_part("pytorch-operator"),
    "pytorch-converted": _of_part("pytorch-converted"),
    "light": _of_part("light"),
    "node, only FLOAT, INT64, INT32, BOOL": lambda facts: (
        facts.part == "node" and CORE_DTYPES.issuperset(facts.dtypes)
    ),
    "node with FLOAT16, BFLOAT16 or DOUBLE": _of_types("FLOAT16", "BFLOAT16", "DOUBLE"),
    "node with elements below 8 bits, or FLOAT8": _of_types(*NARROW),
    "node with INT8, INT16 or unsigned": _of_types(
        "INT8", "INT16", "UINT8", "UINT16", "UINT32", "UINT64"
    ),
    "node with strings": _of_types("STRING"),
    "node with sequences or optionals": lambda facts: (
        facts.part == "node" and any("(" in dtype for dtype in facts.dtypes)
    ),
}
