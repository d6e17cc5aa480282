// RUN: nn-opt --verify-diagnostics %s

func.func @f() -> tensor<3xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<3xf32>
  // expected-error@+1 {{Shape mismatch in dense literal. Expected [3] shape from the type, but got [2] shape.}}
  func.return %c : tensor<3xf32>
}
