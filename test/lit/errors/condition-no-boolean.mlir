// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) {
  // expected-error@+1 {{operand is used with type i1, but has been previously used or defined with type i32}}
  cf.cond_br %a, ^b, ^b
^b:
  func.return
}
