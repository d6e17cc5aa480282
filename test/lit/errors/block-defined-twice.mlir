// RUN: nn-opt --verify-diagnostics %s

func.func @f() {
  cf.br ^a
^a:
  cf.br ^a
// expected-error@+1 {{block ^a is defined twice}}
^a:
  func.return
}
