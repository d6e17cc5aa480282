"""nn-opt behind the interface of `onnx.backend`: for ONNX's own test suite and tools that use it.

    import onnx.backend.test
    import nn_opt.onnx_backend
    tests = onnx.backend.test.BackendTest(nn_opt.onnx_backend, __name__)

The functions of this module are those of the class `NnOptBackend`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import IR_VERSION, ModelProto, NodeProto, TensorProto, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.runtime.model import Model

TARGETS = {"CPU": "cpu"}  # ONNX's word for a device -> the target of `nn_opt.compile`


class NnOptRep(BackendRep):
    """A compiled model behind ONNX's interface."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run on inputs in order, by name, or on the only one; return a named tuple of outputs.

        Raises: ValueError or TypeError naming the input that does not fit.
        """
        results = self.model.run(self._named(inputs), **kwargs)
        return namedtupledict("Outputs", list(results))(*results.values())

    def _named(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            return dict(cast("Mapping[str, Any]", inputs))
        arrays = _in_order(inputs)
        names = [info.name for info in self.model.inputs]
        if len(arrays) != len(names):
            listed = ", ".join(f"'{name}'" for name in names)
            raise ValueError(f"{len(arrays)} inputs given, the model takes {len(names)}: {listed}")
        return dict(zip(names, arrays, strict=True))


class NnOptBackend(Backend):
    """ONNX's backend interface; `options` are those of `nn_opt.compile`."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **options: Any) -> bool:
        """Return whether the model can be imported: whether every operator has a converter."""
        try:
            cls.prepare(model, device, **options)
        except DiagnosticError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **options: Any) -> NnOptRep:
        """Return the compiled model; sizes that it leaves open are those of the first inputs.

        Raises: DiagnosticError for a model that is broken or unsupported, ValueError for a device.
        """
        if not cls.supports_device(device):
            raise ValueError(f"device {device!r} is none of {', '.join(TARGETS)}")
        options.setdefault("target", TARGETS[device.partition(":")[0]])
        return NnOptRep(nn_opt.compile(model, **options))

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: Any, device: str = "CPU", **options: Any
    ) -> tuple[Any, ...]:
        """Compile a model and run it once."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **options: Any,
    ) -> tuple[Any, ...]:
        """Compile a model of one node and run it; `opset_version` is that of its domain.

        Element types and shapes of outputs are inferred, or those of `outputs_info`.
        """
        version = options.pop("opset_version", None)
        model = _model_of(node, _arrays(node, inputs), outputs_info, version)
        return cls.run_model(model, _arrays(node, inputs), device, **options)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether the suite can be run on a device; it is written like CPU or CUDA:1."""
        return device.partition(":")[0] in TARGETS


def _arrays(node: NodeProto, inputs: Any) -> dict[str, Any]:
    if isinstance(inputs, Mapping):
        return dict(cast("Mapping[str, Any]", inputs))
    names = [name for name in node.input if name]
    pairs = zip(names, _in_order(inputs), strict=True)
    return {name: np.asarray(array) for name, array in pairs}


def _in_order(inputs: Any) -> list[Any]:
    """Return inputs as a list; an array alone is the only one."""
    return list(cast("Sequence[Any]", inputs)) if isinstance(inputs, list | tuple) else [inputs]


def _model_of(
    node: NodeProto,
    inputs: Mapping[str, Any],
    outputs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None,
    version: int | None,
) -> ModelProto:
    version = version or onnx.defs.onnx_opset_version()
    values = [_value(name, array.dtype, array.shape) for name, array in inputs.items()]
    names = [name for name in node.output if name]
    results = [helper.make_empty_tensor_value_info(name) for name in names]
    if outputs is not None:
        results = [_value(n, *info) for n, info in zip(names, outputs, strict=True)]
    graph = helper.make_graph([node], "node", values, results)
    opsets = [helper.make_opsetid(node.domain, version)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    return onnx.shape_inference.infer_shapes(model)


def _value(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    kind = TensorProto.STRING if dtype.kind in "OUS" else helper.np_dtype_to_tensor_dtype(dtype)
    return helper.make_tensor_value_info(name, kind, shape)


is_compatible = NnOptBackend.is_compatible
prepare = NnOptBackend.prepare
run_model = NnOptBackend.run_model
run_node = NnOptBackend.run_node
supports_device = NnOptBackend.supports_device
