// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @f() {
  // expected-error@+1 {{cf.br: has successors, but does not end its block}}
  cf.br ^b
  func.return
^b:
  func.return
}

// -----

// expected-error@+1 {{cf.br: branches to a block of another region}}
cf.br ^b

// -----

// expected-error@+1 {{func.func: has an empty block, expected at least a terminator}}
func.func @f() {
  cf.br ^b
^b:
}

// -----

func.func @f(%c: i1) {
  // expected-error@+1 {{scf.if: has an empty block, expected at least a terminator}}
  "scf.if"(%c) ({
  ^b:
  }, {
  }) : (i1) -> ()
  func.return
}

// -----

// expected-note@+1 {{%x is a block argument of func.func}}
func.func @f(%x: i32) {
  func.func @g() -> i32 {
    // expected-error@+1 {{operand #0 (%x) comes from outside of func.func}}
    func.return %x : i32
  }
  func.return
}
