// RUN: nn-opt --verify-diagnostics %s

func.func private @g(%a: i64) -> i32
func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{operand type mismatch: expected operand type i64, but provided i32 for operand number 0}}
  %b = func.call @g(%a) : (i32) -> i32
  func.return %b : i32
}
