// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @f() {
  // expected-error@+1 {{'here' is no kind of location}}
  func.return loc(here)
}

// -----

func.func @g() {
  // expected-error@+1 {{location expected}}
  func.return loc(7)
}
