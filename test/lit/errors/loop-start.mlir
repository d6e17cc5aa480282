// RUN: nn-opt --verify-diagnostics %s

func.func @f() {
  // expected-error@+1 {{the loop starts at 1, expected 0}}
  loop.for %i = 1 to 4 {
  }
  func.return
}
