"""Where onnxruntime and ONNX's reference are no oracles, and why."""

from __future__ import annotations

# Where an oracle is not the standard: (who, operator) -> why.
DISTRUST: dict[tuple[str, str], str] = {
    ("reference", "RNN"): "ignores sequence_lens, clip and activations",
    ("reference", "GRU"): "ignores sequence_lens, clip and activations",
    ("reference", "LSTM"): "ignores sequence_lens, clip and activations",
    ("reference", "GlobalMaxPool"): "keeps an axis too many",
    ("reference", "LpPool"): "counts what lies beyond the end with ceil_mode",
    ("onnxruntime", "CastLike"): "rounds where integers of 4 bits are made, which cuts off",
    ("onnxruntime", "Shrink"): "computes with float32, whatever x is",
    ("reference", "MaxPool"): "counts no channels in the places of the greatest",
    ("reference", "TreeEnsemble"): "knows no post_transform",
    ("reference", "LabelEncoder"): "takes NaN for no key in any version",
    ("reference", "LpNormalization"): "adds numbers with their signs where p is 1",
    ("reference", "LRN"): "goes over the batch where channels are meant",
}
# onnxruntime ends the process for these if there is nothing to average; its own operators leave
# the sums of nothing unwritten.
NEVER_EMPTY = (
    "InstanceNormalization",
    "GroupNormalization",
    "BatchNormalization",
    "Unique",
    "MatMulInteger",
)
# Formulas whose constants are float32 in ONNX, or in its reference, also for float64.
COARSE = ("HardSwish", "Erf", "Gelu", "Swish", "Mish", "Selu", "Attention", "Resize")
