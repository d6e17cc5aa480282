// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{Operation has 1 results, but was given 2 to bind.}}
  %b, %c = arith.addi %a, %a : i32
  func.return %b : i32
}
