// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i64 {
  // expected-error@+1 {{expected [i64], got [i32]}}
  func.return %a : i32
}
