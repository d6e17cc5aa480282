"""tensor: each value is a formula over an index space; nothing is ordered or stored yet.

A superset of upstream's dialect of the same name, loaded in its place.
"""

from xdsl.dialects.tensor import Tensor as Upstream
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Dialect

from nn_opt.dialects.tensor.compute import COMBINERS, ComputeOp, ReadOp, identity_of
from nn_opt.dialects.tensor.join import JoinOp
from nn_opt.dialects.tensor.values import ConstantOp, ScanOp, ViewOp

__all__ = [
    "COMBINERS",
    "ComputeOp",
    "ConstantOp",
    "JoinOp",
    "ReadOp",
    "ScanOp",
    "Tensor",
    "ViewOp",
    "YieldOp",
    "identity_of",
]

Tensor = Dialect(
    "tensor",
    [*Upstream.operations, ComputeOp, ReadOp, ConstantOp, ViewOp, JoinOp, ScanOp],
    [*Upstream.attributes],
)
