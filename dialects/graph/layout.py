"""The op that changes how a tensor lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from nn_opt.dialects.graph.fields import ints, ints_def, text
from nn_opt.dialects.graph.layouts import layout_transform_shape, logical_sizes, parse_layout
from nn_opt.dialects.graph.traits import Fusion, GraphOp
from nn_opt.ir.types import element_type, shape_of, tensor_type


@irdl_op_definition
class LayoutTransformOp(GraphOp):
    """x from one layout to another: "NCHW" to "NCHW16c" pads C with zeros, the way back crops.

    `sizes` are the logical sizes in the order of the source's letters.
    """

    name = "graph.layout_transform"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    HINT: ClassVar[str] = "a layout is axis letters, then inner blocks: NCHW16c, OIHW16i16o"

    x = operand_def(TensorType)
    source = prop_def(StringAttr, prop_name="from")
    target = prop_def(StringAttr, prop_name="to")
    sizes = ints_def()

    def __init__(self, x: SSAValue, source: str, target: str, sizes: Sequence[int] | None = None):
        """Without `sizes`, they are those of x with all its blocks full."""
        if sizes is None:
            layout = parse_layout(source)
            logical = logical_sizes(shape_of(x), layout)
            sizes = [logical[axis] for axis in layout.axes]
        properties = {"from": text(source), "to": text(target), "sizes": ints(sizes)}
        self.build_inferred((x,), properties)

    def infer_result_types(self) -> list[Attribute]:
        layouts = self.source.data, self.target.data
        shape = layout_transform_shape(shape_of(self.x), *layouts, self.sizes.get_values())
        return [tensor_type(shape, element_type(self.x))]
