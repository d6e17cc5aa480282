// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{operand #0 (%b) has no definition that is visible here}}
  func.return %b : i32
}
