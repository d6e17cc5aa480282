// RUN: nn-opt --verify-diagnostics %s

func.func @f() {
  // expected-error@+1 {{'func.return' must be the last operation in its parent block}}
  func.return
  func.return
}
