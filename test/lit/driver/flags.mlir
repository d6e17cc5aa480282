// Passes run in the order given, as flags or as a pipeline; options are typed.
// RUN: nn-opt --canonicalize --cse %s | filecheck %s
// RUN: nn-opt --pass-pipeline='builtin.module(canonicalize,cse)' %s | filecheck %s
// RUN: nn-opt --print-ir-after=cse --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=DUMP
// RUN: nn-opt --print-ir-after-change --canonicalize --cse %s 2>&1 >%t | filecheck %s --check-prefix=CHANGE
// RUN: nn-opt --timing --cse %s 2>&1 >%t | filecheck %s --check-prefix=TIME
// RUN: nn-opt --show-dialects=arith | filecheck %s --check-prefix=ARITH
// RUN: nn-opt --pass-help=cse | filecheck %s --check-prefix=HELP

// CHECK:     func.func @twice
// CHECK:       arith.mulf
// CHECK-NOT:   arith.mulf
// DUMP:      IR Dump After cse
// CHANGE-NOT: IR Dump After canonicalize
// CHANGE:    IR Dump After cse
// TIME:      %)  cse
// ARITH:     arith.addf
// HELP:      --cse
// HELP:      no options
func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
