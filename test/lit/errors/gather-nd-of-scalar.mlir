// RUN: nn-opt --verify-diagnostics %s

func.func @f(%x: tensor<f32>, %i: tensor<1xi64>) -> tensor<f32> {
  // expected-error@+1 {{graph.gather_nd: data and indices must have at least 1 axis}}
  %y = graph.gather_nd %x, %i batch_dims 0 : (tensor<f32>, tensor<1xi64>) -> tensor<f32>
  func.return %y : tensor<f32>
}
