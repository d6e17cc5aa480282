// RUN: nn-opt --verify-diagnostics %s

func.func @f() {
  cf.br ^nowhere
// expected-error@+2 {{region ends with missing block declarations for block(s) nowhere}}
}
