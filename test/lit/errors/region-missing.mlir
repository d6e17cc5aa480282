// RUN: nn-opt --verify-diagnostics %s

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>)
  // expected-error@+1 {{Expected region!}}
  func.return %y : tensor<4xf32>
}
