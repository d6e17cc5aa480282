// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{'nowhere.x' is not registered}}
func.func @f() attributes {x = #nowhere.x} {
  func.return
}
