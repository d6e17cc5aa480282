// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a
  // expected-error@+1 {{Expected ':'}}
  func.return %b : i32
}
