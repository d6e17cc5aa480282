// RUN: nn-opt --verify-diagnostics %s

func.func @f() -> tensor<2xf32> {
  // expected-error@+1 {{expected ')', got ','}}
  %c = graph.constant dense<[3.0,(4.0, 5.0, 6.0]> : tensor<2xf32>
  func.return %c : tensor<2xf32>
}
