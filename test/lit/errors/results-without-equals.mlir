// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{Expected '=' after operation result list}}
  %b arith.addi %a, %a : i32
  func.return %b : i32
}
