// RUN: nn-opt --verify-diagnostics %s

func.func @f(%x: tensor<1x3x4xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x2xf32> {
  // expected-error@+1 {{graph.conv: ranks are 3 and 4, expected equal ones of at least 3}}
  %y = graph.conv %x, %w strides [1] pads [0, 0] dilations [1] group 1 : (tensor<1x3x4xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x2xf32>
  func.return %y : tensor<1x2x2xf32>
}
