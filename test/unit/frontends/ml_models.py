"""Models of ai.onnx.ml with attributes at random, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TypeProto, helper

Array = NDArray[Any]
ML = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def ml_node(op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain=ML, **attrs)


def ml_model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, int | TypeProto],
    version: int = 3,
) -> ModelProto:
    """Return a model; outputs are given by an element type or a type."""
    values = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in inputs.items()
    ]
    results = [
        helper.make_value_info(
            name, helper.make_tensor_type_proto(kind, None) if isinstance(kind, int) else kind
        )
        for name, kind in outputs.items()
    ]
    graph = helper.make_graph(nodes, "ml", values, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def by_onnxruntime(model: ModelProto, inputs: Mapping[str, Any]) -> list[Any]:
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options)
    return list(session.run(None, dict(inputs)))


def forest(
    seed: int,
    *,
    trees: int = 4,
    depth: int = 3,
    features: int = 5,
    targets: int = 3,
    modes: Sequence[str] = MODES[:1],
    missing: bool = False,
    of: str = "target",
    ids: Sequence[int] | None = None,
    every: bool = True,
    lowest: float = -1.0,
) -> dict[str, Any]:
    """Return attributes of full trees, whose leaves give something to each of `ids`, or some.

    Thresholds are halves, so that features that are halves, too, meet them.
    """
    random = np.random.default_rng(seed)
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    lists: dict[str, list[Any]] = {name: [] for name in NODE_LISTS}
    weights: dict[str, list[Any]] = {name: [] for name in ("ids", "treeids", "nodeids", "weights")}
    for tree in range(trees):
        for node in range(size):
            leaf = node >= inner
            mode = "LEAF" if leaf else str(random.choice(modes))
            row = (tree, node, mode, int(random.integers(features)), _half(random))
            ways = (0, 0) if leaf else (2 * node + 1, 2 * node + 2)
            entry = (*row, *ways, int(missing and random.random() < 0.5))
            for name, value in zip(NODE_LISTS, entry, strict=True):
                lists[name].append(value)
            chosen = [*(ids if ids is not None else range(targets))] if leaf else []
            if leaf and not every:
                chosen = chosen[: 1 + int(random.integers(len(chosen)))]
            for target in chosen:
                given = (target, tree, node, float(np.float32(random.uniform(lowest, 1))))
                for name, value in zip(weights, given, strict=True):
                    weights[name].append(value)
    if not missing:
        lists.pop("nodes_missing_value_tracks_true")
    return lists | {f"{of}_{name}": values for name, values in weights.items()}


NODE_LISTS = (
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_modes",
    "nodes_featureids",
    "nodes_values",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_missing_value_tracks_true",
)


def _half(random: np.random.Generator) -> float:
    return float(random.integers(-3, 4)) / 2


def halves(seed: int, rows: int, features: int = 5, dtype: Any = np.float32) -> Array:
    """Return features from -2 to 2 in steps of a half, and some NaN among floats."""
    random = np.random.default_rng(seed)
    x = random.integers(-4, 5, (rows, features)) / 2
    if np.dtype(dtype).kind == "f":
        x[random.random(x.shape) < 0.1] = np.nan
    return x.astype(dtype)
