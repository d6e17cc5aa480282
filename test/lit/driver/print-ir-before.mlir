// Modules are printed before or after a pass, or every one.
// RUN: nn-opt --print-ir-before=cse --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=BEFORE
// RUN: nn-opt --print-ir-before-all --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=ALL
// RUN: nn-opt --print-ir-after-all --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=AFTER
// RUN: nn-opt --print-ir-after=canonicalize,cse --dce --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=AFTER
// RUN: not nn-opt --print-ir-before=compile --cse %s 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not nn-opt --print-ir-after=cse,ccse --cse %s 2>&1 | filecheck %s --check-prefix=NAME

// BEFORE-NOT: canonicalize
// BEFORE:     IR Dump Before cse
// BEFORE:       arith.mulf
// BEFORE:       arith.mulf
// BEFORE-NOT:   arith.mulf
// ALL:        IR Dump Before canonicalize
// ALL:        IR Dump Before cse
// AFTER-NOT:  IR Dump After dce
// AFTER:      IR Dump After canonicalize
// AFTER:      IR Dump After cse
// PIPELINE:      {{^}}error: --print-ir-before: unknown pass 'compile'
// PIPELINE-NEXT: hint: it is a pipeline: name one of its passes, see --pass-help=compile
// NAME:          {{^}}error: --print-ir-after: unknown pass 'ccse'
// NAME-NEXT:     hint: did you mean cse?
func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
