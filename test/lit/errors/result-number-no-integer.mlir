// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{Expected integer as SSA value tuple index}}
  %b = arith.addi %a#x, %a : i32
  func.return %b : i32
}
