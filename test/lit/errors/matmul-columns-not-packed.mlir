// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: tensor<2x3xf32>, %b: tensor<1x3x32xf32>) -> tensor<2x40xf32> {
  // expected-error@+1 {{graph.matmul: columns is 40, expected 1 to 32, as many as are packed}}
  %y = graph.matmul %a, %b weight_layout "NK32n" columns 40 : (tensor<2x3xf32>, tensor<1x3x32xf32>) -> tensor<2x40xf32>
  func.return %y : tensor<2x40xf32>
}
