// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{'gpu.token' is not registered}}
func.func @f(%a: !gpu.token) {
  func.return
}
