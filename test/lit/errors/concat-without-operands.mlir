// RUN: nn-opt --verify-diagnostics %s

func.func @f() -> tensor<4xf32> {
  // expected-error@+1 {{graph.concat: has no operands, expected at least 1}}
  %y = graph.concat axis 0 : () -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
