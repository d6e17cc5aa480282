# ruff: noqa: E501  (lines of IR)
import numpy as np
from programs import apply, assert_same, normal, op_names, program

from nn_opt.dialects import graph
from nn_opt.ir.remarks import collect_remarks
from nn_opt.passes.fold_constants import FoldConstantsPass
from nn_opt.reference import run

PACKING = """
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %w = graph.constant #graph.resource<"w"> : tensor<4x8xf32>
  %t = graph.transpose %w perm [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %p = graph.layout_transform %t from "KN" to "NK2n" sizes [8, 4] : (tensor<8x4xf32>) -> tensor<2x8x2xf32>
  %r = graph.reduce %p kind "sum" axes [0, 2] : (tensor<2x8x2xf32>) -> tensor<8xf32>
  %y = graph.mul %x, %r : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}"""


def test_weights_are_packed_by_the_interpreter():
    w = normal(4, 8)
    module = program(PACKING, w=w)
    assert_same(module, FoldConstantsPass())
    assert op_names(module) == ["graph.mul"]
    (constant,) = [op for op in module.walk() if isinstance(op, graph.ConstantOp)]
    np.testing.assert_allclose(constant.array(), w.astype(np.float64).sum(0), rtol=1e-5)


def test_layout_transforms_fold_whatever_their_size_and_expands_do_not():
    text = """
      func.func @main() -> (tensor<1x1x3x3x16x16xf32>, tensor<20000xf32>) {
        %w = graph.constant #graph.resource<"w"> : tensor<1x1x3x3xf32>
        %p = graph.layout_transform %w from "OIHW" to "OIHW16i16o" sizes [1, 1, 3, 3] : (tensor<1x1x3x3xf32>) -> tensor<1x1x3x3x16x16xf32>
        %s = graph.constant dense<1.0> : tensor<1xf32>
        %e = graph.expand %s : (tensor<1xf32>) -> tensor<20000xf32>
        func.return %p, %e : tensor<1x1x3x3x16x16xf32>, tensor<20000xf32>
      }"""
    module = program(text, w=normal(1, 1, 3, 3))
    with collect_remarks() as remarks:
        assert_same(module, FoldConstantsPass())
    assert op_names(module) == ["graph.expand"]
    assert [remark.operation for remark in remarks] == ["graph.expand"]


def test_locations_and_dtypes_survive():
    text = """
      func.func @main() -> tensor<2xi64> {
        %a = graph.constant dense<[3, -7]> : tensor<2xi64>
        %b = graph.constant dense<2> : tensor<i64>
        %y = graph.div %a, %b : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64> loc("node")
        func.return %y : tensor<2xi64>
      }"""
    module = program(text)
    apply(module, FoldConstantsPass())
    (constant,) = [op for op in module.walk() if isinstance(op, graph.ConstantOp)]
    text = str(constant.location)
    assert text == 'loc(fused["node", "test.mlir":3:14, "test.mlir":4:14])'
    np.testing.assert_array_equal(run(module, [])[0], np.array([1, -3], np.int64))


def test_constants_of_a_scan_are_made_before_it():
    text = """
      func.func @main(%h: tensor<2xf32>, %xs: tensor<3x2xf32>) -> tensor<2xf32> {
        %last = graph.scan (%s = %h : tensor<2xf32>) over (%x = %xs : tensor<3x2xf32>) -> (tensor<2xf32>) {
          %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %b = graph.neg %a : tensor<2xf32>
          %t = graph.mul %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          %n = graph.add %s, %t : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          graph.yield %n : tensor<2xf32>
        }
        func.return %last : tensor<2xf32>
      }"""
    module = program(text)
    assert_same(module, FoldConstantsPass())
    names = [op.name for op in module.walk()]
    assert names.index("graph.constant") < names.index("graph.scan")
    assert "graph.neg" not in names
