"""A formula moves into a reader's padding where it makes the padding's value there, only then."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import loops, random_inputs
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import AllocOp
from nn_opt.reference import run
from nn_opt.schedule.schedule import Schedule

PANELS = """
func.func @pack(%x: tensor<6x20xf32>, %y: tensor<6x20xf32>, %z: tensor<20xf32>)
    -> tensor<2x6x16xf32> attributes {kernel} {
  %f = tensor.compute "formula" (%i: 6, %j: 20) : tensor<6x20xf32> {
    %a = tensor.read %x[%i, %j] : tensor<6x20xf32>
    OTHER
    FORMULA
    tensor.yield %r : f32
  }
  %p = tensor.compute "panels" (%n: 2, %k: 6, %l: 16) : tensor<2x6x16xf32> {
    %a = tensor.read %f[%k, 16 * %n + %l] or PADDING : tensor<6x20xf32>
    tensor.yield %a : f32
  }
  func.return %p : tensor<2x6x16xf32>
}
"""
SAME = "%b = tensor.read %y[%i, %j] : tensor<6x20xf32>"
ROW = "%b = tensor.read %z[%j] : tensor<20xf32>"
TURNED = "%b = tensor.read %x[%j floordiv 4, %i] : tensor<6x20xf32>"


def kernel(formula: str, other: str = SAME, padding: str = "0.0") -> str:
    text = PANELS.replace("FORMULA", formula).replace("OTHER", other)
    return text.replace("PADDING", padding)


KEPT = {
    "tanh": (kernel("%r = math.tanh %a : f32"), lambda x, y: np.tanh(x)),
    "product": (kernel("%r = arith.mulf %a, %b : f32"), lambda x, y: x * y),
    "maximum": (
        kernel("%c = arith.constant 0.0 : f32\n    %r = arith.maximumf %a, %c : f32"),
        lambda x, y: np.maximum(x, 0),
    ),
}
REFUSED = {
    "exp of 0 is 1": kernel("%r = math.exp %a : f32"),
    "what is added is not 0": kernel(
        "%c = arith.constant 1.0 : f32\n    %r = arith.addf %a, %c : f32"
    ),
    "the padding is 1": kernel("%r = math.tanh %a : f32", padding="1.0"),
    "a row goes on below": kernel("%r = arith.mulf %a, %b : f32", other=ROW),
    "another place": kernel("%r = arith.mulf %a, %b : f32", other=TURNED),
    "the place itself": kernel(
        "%c = arith.index_cast %j : index to i32\n    %d = arith.sitofp %c : i32 to f32\n"
        "    %r = arith.mulf %a, %d : f32"
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_makes_zeros_of_zeros_is_inlined(name: str):
    text, truth = KEPT[name]
    _, module, function = loops(text)
    Schedule(function).inline("formula")
    module.verify()
    assert not any(isinstance(op, AllocOp) for op in function.walk())
    x, y, z = random_inputs(text)
    whole = np.zeros((6, 32))
    whole[:, :20] = truth(x.astype(float), y.astype(float))
    panels = whole.reshape(6, 2, 16).transpose(1, 0, 2)
    np.testing.assert_allclose(run(module, [x, y, z])[0], panels, rtol=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_other_formulas_are_kept(name: str):
    _, _, function = loops(REFUSED[name])
    with pytest.raises(PassFailedException, match="'panels' reads 'formula' outside its bounds"):
        Schedule(function).inline("formula")
