// RUN: nn-opt --verify-diagnostics %s

func.func @f(%a: i32) {
  // expected-error@+1 {{passes () to a block that takes (i32)}}
  cf.br ^b
^b(%x: i32):
  func.return
}
