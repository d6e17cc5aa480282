"""The benchmark models as PyTorch modules: the operators of `bench/models` and no others."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper

Tensor = torch.Tensor
Step = Callable[..., Any]  # of an operator's inputs; those that are absent are None
Attributes = dict[str, Any]
Constants = Sequence[Any]  # of an operator's inputs, as arrays; None where they are not constant

GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2)}  # of PyTorch, where ONNX has them


class TorchModel(torch.nn.Module):
    """Runs a model's operators in order. Raises KeyError for an operator it does not know."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        graph = onnx.load(path).graph
        arrays = {t.name: np.array(numpy_helper.to_array(t)) for t in graph.initializer}
        self.feeds = [value.name for value in graph.input if value.name not in arrays]
        self.outputs = [value.name for value in graph.output]
        self.steps: list[tuple[Step, list[str], list[str]]] = []
        self.slots: dict[str, str] = {}  # where a weight lies in this module
        self.scalars: dict[str, float] = {}
        self.parts = torch.nn.ModuleList()
        for node in graph.node:
            self._append(node, arrays)

    def _append(self, node: onnx.NodeProto, arrays: dict[str, np.ndarray]) -> None:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        step = STEPS[node.op_type](attributes, [arrays.get(name) for name in node.input])
        if isinstance(step, torch.nn.Module):
            self.parts.append(step)
        for name in node.input:
            if name not in arrays or name in self.slots:
                continue
            if arrays[name].ndim == 0:
                self.scalars[name] = arrays[name].item()
            else:
                self.slots[name] = f"weight{len(self.slots)}"
                self.register_buffer(self.slots[name], torch.from_numpy(arrays[name]))
        self.steps.append((step, list(node.input), list(node.output)))

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        """Return the model's results for inputs in order."""
        values: dict[str, Any] = dict(zip(self.feeds, inputs, strict=True)) | self.scalars
        values |= {name: getattr(self, slot) for name, slot in self.slots.items()}
        for step, names, results in self.steps:
            found = step(*(values[name] if name else None for name in names))
            many = found if isinstance(found, tuple) else (found,)
            values.update(zip(results, many, strict=False))
        return [values[name] for name in self.outputs]


def _ints(array: Any) -> list[int]:
    return [int(size) for size in np.asarray(array).reshape(-1)]


def _even(pads: Sequence[int]) -> list[int]:
    """Return equal pads of both sides, which PyTorch wants."""
    half = len(pads) // 2
    if list(pads[:half]) != list(pads[half:]):
        raise ValueError(f"pads {pads} differ from side to side")
    return list(pads[:half])


def _conv(a: Attributes, _: Constants) -> Step:
    pads = _even(a.get("pads", (0, 0, 0, 0)))
    places = (a.get("strides", (1, 1)), pads, a.get("dilations", (1, 1)), a.get("group", 1))
    return lambda x, w, b=None: F.conv2d(x, w, b, *places)


def _max_pool(a: Attributes, _: Constants) -> Step:
    pads, ceil = _even(a.get("pads", (0, 0, 0, 0))), bool(a.get("ceil_mode", 0))
    window = (a["kernel_shape"], a.get("strides"), pads)
    return lambda x: F.max_pool2d(x, *window, ceil_mode=ceil)


def _batch_norm(a: Attributes, _: Constants) -> Step:
    eps = a.get("epsilon", 1e-5)
    return lambda x, scale, bias, mean, var: F.batch_norm(x, mean, var, scale, bias, eps=eps)


def _gemm(a: Attributes, _: Constants) -> Step:
    if not a.get("transB") or a.get("transA") or a.get("alpha", 1) != 1 or a.get("beta", 1) != 1:
        raise ValueError("a Gemm other than x @ w.T + b")
    return F.linear


def _reshape(_: Attributes, constants: Constants) -> Step:
    shape = _ints(constants[1])
    return lambda x, s: x.reshape(shape)


def _unsqueeze(_: Attributes, constants: Constants) -> Step:
    axes = sorted(_ints(constants[1]))

    def step(x: Tensor, s: Tensor) -> Tensor:
        for place in axes:
            x = x.unsqueeze(place)
        return x

    return step


def _squeeze(_: Attributes, constants: Constants) -> Step:
    axes = tuple(_ints(constants[1]))
    return lambda x, s: x.squeeze(axes)


def _gather(a: Attributes, constants: Constants) -> Step:
    axis = a.get("axis", 0)
    if constants[1] is None:  # rows of a table
        return lambda table, rows: F.embedding(rows, table)
    places = np.asarray(constants[1])
    if places.ndim:
        kept = torch.from_numpy(places)
        return lambda x, i: x.index_select(axis, kept)
    return lambda x, i: x.select(axis, int(places))


def _split(a: Attributes, constants: Constants) -> Step:
    sizes, axis = _ints(constants[1]), a.get("axis", 0)
    return lambda x, s: tuple(torch.split(x, sizes, axis))


def _transpose(a: Attributes, _: Constants) -> Step:
    perm = list(a["perm"])
    if perm[-2] < perm[-1]:
        return lambda x: x.permute(perm)
    before = [*perm[:-2], perm[-1], perm[-2]]  # as programs say it, and inductor looks for it
    return lambda x: x.permute(before).transpose(-2, -1)


def _clip(_: Attributes, constants: Constants) -> Step:
    low, high = (None if c is None else float(c) for c in constants[1:])
    return lambda x, *bounds: torch.clamp(x, low, high)


def _recurrent(kind: str) -> Callable[[Attributes, Constants], Step]:
    def build(a: Attributes, constants: Constants) -> Step:
        if kind == "GRU" and not a.get("linear_before_reset"):
            raise ValueError("PyTorch's GRU resets behind the matrix")
        return Recurrent(kind, a["hidden_size"], *constants[1:4])

    return build


class Recurrent(torch.nn.Module):
    """PyTorch's LSTM or GRU with ONNX's weights; the first states are zero."""

    def __init__(self, kind: str, size: int, w: Any, r: Any, b: Any) -> None:
        super().__init__()
        self.cell = getattr(torch.nn, kind)(w.shape[2], size)
        halves = (b[0][: len(b[0]) // 2], b[0][len(b[0]) // 2 :])
        for name, array in zip(
            ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"),
            (w[0], r[0], *halves),
            strict=True,
        ):
            gates = array.reshape(len(GATES[kind]), size, -1)[list(GATES[kind])]
            parameter = getattr(self.cell, name)
            parameter.data = torch.from_numpy(gates.reshape(array.shape).copy())

    def forward(self, x: Tensor, *weights: Tensor | None) -> Tensor:
        """Return the states of all steps, with ONNX's axis of directions."""
        return self.cell(x)[0].unsqueeze(1)


def _plain(function: Step) -> Callable[[Attributes, Constants], Step]:
    return lambda attributes, constants: function


STEPS: dict[str, Callable[[Attributes, Constants], Step]] = {
    "Add": _plain(operator.add),
    "BatchNormalization": _batch_norm,
    "Cast": lambda a, c: lambda x: x.to(torch.float32) if a["to"] == 1 else x.to(torch.int64),
    "Clip": _clip,
    "Concat": lambda a, c: lambda *xs: torch.cat(xs, a["axis"]),
    "Conv": _conv,
    "Div": _plain(operator.truediv),
    "Erf": _plain(torch.erf),
    "Flatten": lambda a, c: lambda x: torch.flatten(x, a.get("axis", 1)),
    "GRU": _recurrent("GRU"),
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _plain(lambda x: x.mean((2, 3), keepdim=True)),
    "LSTM": _recurrent("LSTM"),
    "MatMul": _plain(torch.matmul),
    "MaxPool": _max_pool,
    "Mul": _plain(operator.mul),
    "Pow": _plain(operator.pow),
    "ReduceMean": lambda a, c: lambda x: x.mean(a["axes"], keepdim=bool(a.get("keepdims", 1))),
    "Relu": _plain(F.relu),
    "Reshape": _reshape,
    "Softmax": lambda a, c: lambda x: F.softmax(x, a.get("axis", -1)),
    "Split": _split,
    "Sqrt": _plain(torch.sqrt),
    "Squeeze": _squeeze,
    "Sub": _plain(operator.sub),
    "Tanh": _plain(torch.tanh),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
