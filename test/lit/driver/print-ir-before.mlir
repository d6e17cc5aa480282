// Modules are printed before or after a pass, or every one.
// RUN: nn-opt --print-ir-before=cse --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=BEFORE
// RUN: nn-opt --print-ir-before-all --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=ALL
// RUN: nn-opt --print-ir-after-all --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=AFTER

// BEFORE-NOT: canonicalize
// BEFORE:     IR Dump Before cse
// BEFORE:       arith.mulf
// BEFORE:       arith.mulf
// BEFORE-NOT:   arith.mulf
// ALL:        IR Dump Before canonicalize
// ALL:        IR Dump Before cse
// AFTER:      IR Dump After canonicalize
// AFTER:      IR Dump After cse
func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
