// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{Duplicate key 'a' in dictionary attribute}}
func.func @f() attributes {a, a} {
  func.return
}
