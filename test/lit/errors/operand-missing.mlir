// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{Expected ','}}
  %b = arith.addi %a : i32
  func.return %b : i32
}
