"""Operators that no recipe makes, and why."""

from __future__ import annotations

LISTS = "a sequence or an optional: a step of the host"
STRINGS = "strings: a step of the host"
CHANCE = "random numbers: no two runtimes draw the same"
GONE = "not in the newest opset"

EXCLUDED = {
    **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"), CHANCE),
    **dict.fromkeys(("RandomUniform", "RandomUniformLike"), CHANCE),
    **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"), STRINGS),
    **dict.fromkeys(("ConcatFromSequence", "SplitToSequence", "SequenceMap"), LISTS),
    **dict.fromkeys(("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase"), LISTS),
    **dict.fromkeys(("SequenceInsert", "SequenceLength"), LISTS),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), LISTS),
    "ImageDecoder": "images in files: a step of the host",
    **dict.fromkeys(("Scatter", "Upsample"), GONE),
}
