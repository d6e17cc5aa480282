// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) {
  // expected-error@+1 {{Expected suffix identifier after '%'}}
  % = arith.addi %a, %a : i32
  func.return
}
