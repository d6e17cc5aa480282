// RUN: nn-opt --verify-diagnostics %s

func.func @f() -> tensor<2xf32> {
  // expected-error@+1 {{Expected '>' in dense attribute}}
  %c = arith.constant dense<[1.0, 2.0] : tensor<2xf32>
  func.return %c : tensor<2xf32>
}
