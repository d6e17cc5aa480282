"""Attention in the forms that exporters give it, as ONNX models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]


@dataclass(frozen=True)
class Form:
    """Sizes, and what is done to the scores.

    scale: "after" divides them; "before" scales the queries, "both" queries and keys.
    mask: "keys" adds a row for all queries, "full" a matrix, "causal" selects by a constant one.
    packed: queries, keys and values are parts of one input.
    safe: rows without any key weigh nothing, instead of being no numbers.
    """

    queries: int
    keys: int
    width: int
    heads: int = 2
    batch: int = 1
    scale: str = "after"
    mask: str = "keys"
    packed: bool = False
    safe: bool = False


@dataclass
class Block:
    """The nodes, constants and inputs of a model that is being written."""

    form: Form
    nodes: list[Any] = field(default_factory=list[Any])
    constants: list[Any] = field(default_factory=list[Any])
    inputs: list[Any] = field(default_factory=list[Any])

    def node(self, op: str, *operands: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, operands, [name], **attributes))
        return name

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def input(self, name: str, *shape: int) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def heads(self, x: str, length: int, perm: list[int]) -> str:
        form = self.form
        shape = self.constant(np.array([form.batch, length, form.heads, form.width], np.int64))
        return self.node("Transpose", self.node("Reshape", x, shape), perm=perm)

    def operands(self) -> list[str]:
        form, width = self.form, self.form.heads * self.form.width
        if not form.packed:
            lengths = {"q": form.queries, "k": form.keys, "v": form.keys}
            return [self.input(n, form.batch, length, width) for n, length in lengths.items()]
        x = self.input("x", form.batch, form.keys, 3 * width)
        sizes = self.constant(np.array([width] * 3, np.int64))
        self.nodes.append(helper.make_node("Split", [x, sizes], ["q", "k", "v"], axis=-1))
        return ["q", "k", "v"]

    def scaled(self) -> tuple[str, str, str]:
        form = self.form
        q, k, v = self.operands()
        q = self.heads(q, form.queries, [0, 2, 1, 3])
        k = self.heads(k, form.keys, [0, 2, 3, 1])
        v = self.heads(v, form.keys, [0, 2, 1, 3])
        factor = np.float32(form.width**-0.5)
        if form.scale == "before":
            q = self.node("Mul", q, self.constant(factor))
        if form.scale == "both":
            root = self.constant(np.sqrt(factor))
            q, k = self.node("Mul", q, root), self.node("Mul", k, root)
        scores = self.node("MatMul", q, k)
        if form.scale == "after":
            scores = self.node("Div", scores, self.constant(1 / factor))
        return scores, q, v

    def masked(self, scores: str) -> str:
        form = self.form
        if form.mask == "causal":
            seen = np.tril(np.ones((1, 1, form.queries, form.keys), bool))
            low = self.constant(np.float32(-np.inf))
            return self.node("Where", self.constant(seen), scores, low)
        if form.mask in ("keys", "full"):
            rows = 1 if form.mask == "keys" else form.queries
            return self.node("Add", scores, self.input("mask", form.batch, 1, rows, form.keys))
        return scores


def attention_model(form: Form) -> onnx.ModelProto:
    """Return a model of one attention, its result with the heads side by side."""
    block = Block(form)
    scores, _, v = block.scaled()
    weights = block.node("Softmax", block.masked(scores), axis=-1)
    if form.safe:
        zero = block.constant(np.float32(0))
        weights = block.node("Where", block.node("IsNaN", weights), zero, weights)
    y = block.node("Transpose", block.node("MatMul", weights, v), perm=[0, 2, 1, 3])
    shape = [form.batch, form.queries, form.heads * form.width]
    y = block.node("Reshape", y, block.constant(np.array(shape, np.int64)))
    outputs = [helper.make_tensor_value_info(y, TensorProto.FLOAT, shape)]
    graph = helper.make_graph(block.nodes, "attention", block.inputs, outputs, block.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def feeds_of(model: onnx.ModelProto, *, masked: float = -10000.0) -> dict[str, Array]:
    """Return seeded inputs; a fifth of a mask is `masked`, as are the first rows of a full one."""
    random = np.random.default_rng(3)
    feeds: dict[str, Array] = {}
    for value in model.graph.input:
        shape = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
        array = random.standard_normal(shape).astype(np.float32)
        if value.name == "mask":
            array = np.where(random.random(shape) < 0.2, masked, 0).astype(np.float32)
            array[..., 0 : shape[-2] // 8, :] = masked
        feeds[value.name] = array
    return feeds
