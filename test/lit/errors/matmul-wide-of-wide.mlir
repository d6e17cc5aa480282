// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{graph.matmul: a wide sum of f32, expected one of f16, bf16, i8 or ui8}}
  %y = graph.matmul %a, %b wide : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
