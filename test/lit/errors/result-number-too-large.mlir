// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{SSA value tuple index out of bounds. Tuple is of size 1 but tried to access element 3.}}
  %b = arith.addi %a#3, %a : i32
  func.return %b : i32
}
