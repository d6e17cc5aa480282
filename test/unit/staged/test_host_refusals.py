"""What operators on the host refuse, in words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from fuzz.targets import CORPUS
from nn_opt.driver.minimize import Judge
from nn_opt.driver.per_node import Subject
from nn_opt.frontends.onnx.node import Attributes
from nn_opt.runtime.manifest import ManifestError, from_json
from nn_opt.staged.host import HOST_OPS
from nn_opt.staged.host.table import Body, Call, HostFault

TEXTS = np.asarray(["1", "2"], object)
YES = np.asarray(True)


class Growing(Body):
    """A loop's body whose tensors become longer."""

    def __call__(self, *inputs: Any) -> list[Any]:
        return [YES, np.zeros(int(inputs[0]))]

    def nothing(self, index: int) -> Any:
        return np.zeros(0)


def run(operator: str, *inputs: Any, body: Body | None = None, **attributes: Any) -> Any:
    attrs = Attributes(helper.make_node(operator, [], [], **attributes))
    return HOST_OPS[operator].run(Call(attrs, 20, inputs, 1, {"body": body} if body else {}))


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "words"),
    [
        ("OptionalGetElement", [None], {}, "the optional is empty"),
        ("Cast", [TEXTS], {"to": 77}, "no number of that type can be read from a string"),
        (
            "ImageDecoder",
            [np.zeros(4, np.uint8)],
            {"pixel_format": "CMYK"},
            "pixel_format is 'CMYK', expected one of RGB, BGR, Grayscale",
        ),
        ("SequenceLength", [TEXTS], {}, "input 0 is a tensor, expected a sequence"),
        ("StringConcat", [[TEXTS], TEXTS], {}, "input 0 is a sequence, expected a tensor"),
    ],
)
def test_what_is_said(operator: str, inputs: list[Any], attributes: dict[str, Any], words: str):
    with pytest.raises(HostFault, match=words):
        run(operator, *inputs, **attributes)


def test_steps_of_different_shapes():
    steps = np.asarray(3)
    words = "the steps' tensors of output 1 of the body differ in shape"
    with pytest.raises(HostFault, match=words):
        run("Loop", steps, YES, body=Growing())


def test_a_cut_that_is_no_text():
    record = json.loads((CORPUS / "manifest" / "small").read_bytes())
    record["cut"] = 3
    with pytest.raises(ManifestError, match="cut is 3, expected a text"):
        from_json(json.dumps(record).encode())


def test_a_part_of_a_model_whose_inputs_nobody_knows():
    model = helper.make_model(helper.make_graph([], "g", [], []))
    judge = Judge(Subject(model, "reference", 1e-3, {}), {})
    with pytest.raises(ValueError, match="no values for z"):
        judge._array(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2]))
