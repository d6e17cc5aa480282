// RUN: nn-opt --verify-diagnostics %s

func.func @f(%x: tensor<2xf32>, %i: tensor<1xi64>) -> tensor<f32> {
  // expected-error@+1 {{graph.gather_nd: batch_dims is 1, expected less than both ranks}}
  %y = graph.gather_nd %x, %i batch_dims 1 : (tensor<2xf32>, tensor<1xi64>) -> tensor<f32>
  func.return %y : tensor<f32>
}
