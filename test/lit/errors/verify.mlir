// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @use_before_definition(%a: i32) -> i32 {
  // expected-error@+1 {{operand #0 (%b) is used before its definition dominates it}}
  %c = arith.addi %b, %a : i32
  %b = arith.addi %a, %a : i32
  func.return %c : i32
}

// -----

func.func @not_on_every_path(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^left, ^join
^left:
  %x = arith.addi %a, %a : i32
  cf.br ^join
^join:
  // expected-error@+1 {{operand #0 (%x) is used before its definition dominates it}}
  func.return %x : i32
}

// -----

func.func @on_every_path(%c: i1, %a: i32) -> i32 {
  %x = arith.addi %a, %a : i32
  cf.cond_br %c, ^left, ^join
^join:
  func.return %x : i32
^left:
  cf.br ^join
}

// -----

func.func @inner_value_outside(%c: i1, %a: i32) -> i32 {
  scf.if %c {
    %x = arith.addi %a, %a : i32
  }
  // expected-error@+1 {{operand #0 (%x) has no definition that is visible here}}
  func.return %x : i32
}

// -----

func.func @no_terminator(%a: i32) -> i32 {
  // expected-error@+1 {{ends a block of func.func, but is no terminator}}
  %c = arith.addi %a, %a : i32
}

// -----

func.func private @twin()
// expected-error@+1 {{symbol @twin is defined twice}}
func.func private @twin()

// -----

func.func @types(%a: i32, %x: i64) -> i32 {
  // expected-error@+1 {{operand is used with type i32, but has been previously used or defined with type i64}}
  %c = arith.addi %a, %x : i32
  func.return %c : i32
}

// -----

func.func @unknown(%a: i32) {
  // expected-error@+1 {{unknown operation 'arith.frobnicate'}}
  arith.frobnicate %a : i32
  func.return
}
