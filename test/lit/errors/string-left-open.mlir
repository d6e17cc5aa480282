// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{End of file reached before closing string literal.}}
func.func @f() attributes {x = "abc} {
  func.return
}
