// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) -> i32 {
  func.return %a : i32
// expected-error@+1 {{expected an operation, a block or '}', got the end}}
