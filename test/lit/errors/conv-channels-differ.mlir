// RUN: not nn-opt %s 2>&1 | filecheck %s

// CHECK:      conv-channels-differ.mlir:9:8: error: graph.conv: input has 3 channels but the filter expects 4 (4 in 1 group(s))
// CHECK-NEXT:   %y = graph.conv
// CHECK-NEXT:        ^
// CHECK-NEXT:   hint: check strides, pads and the layout: input NCHW, filter FCRS
func.func @f(%x: tensor<1x3x4x4xf32>, %w: tensor<2x4x3x3xf32>) -> tensor<1x2x2x2xf32> {
  // The filter has to have as many channels as the input, or a group of them.
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x3x4x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x2x2xf32>
  func.return %y : tensor<1x2x2x2xf32>
}
