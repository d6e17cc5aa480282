// RUN: nn-opt --verify-diagnostics %s

func.func @f() -> i8 {
  // expected-error@+1 {{Integer value 300 is out of range for type i8}}
  %c = arith.constant 300 : i8
  func.return %c : i8
}
