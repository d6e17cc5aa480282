// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{')' expected}}
func.func @f(%a: i32 %b: i32) {
  func.return
}
