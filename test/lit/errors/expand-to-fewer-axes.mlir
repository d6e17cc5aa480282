// RUN: nn-opt --verify-diagnostics %s

func.func @f(%x: tensor<2x4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{graph.expand: shape [2, 4] has more axes than [4]}}
  %y = graph.expand %x : (tensor<2x4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
