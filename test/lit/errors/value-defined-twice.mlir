// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  // expected-error@+1 {{SSA value %b is already defined}}
  %b = arith.muli %a, %a : i32
  func.return %b : i32
}
