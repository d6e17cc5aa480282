// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) {
  // expected-error@+1 {{unknown operation 'gpuu.launch'}}
  gpuu.launch %a : i32
  func.return
}
