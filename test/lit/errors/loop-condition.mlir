// RUN: nn-opt --verify-diagnostics %s

func.func @f(%i: index) {
  // expected-error@+1 {{the condition compares with 1, expected 0}}
  loop.if (%i >= 1) {
  }
  func.return
}
