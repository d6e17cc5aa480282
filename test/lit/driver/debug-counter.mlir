// Only the first N rewrites of a pass happen; dead and folded operations are rewrites, too.
// RUN: nn-opt --debug-counter=canonicalize=0 --canonicalize %s | filecheck %s --check-prefix=ZERO
// RUN: nn-opt --debug-counter=canonicalize=1 --canonicalize %s | filecheck %s --check-prefix=ONE
// RUN: nn-opt --debug-counter=canonicalize=1 --canonicalize --canonicalize %s | filecheck %s --check-prefix=ONE
// RUN: nn-opt --debug-counter=cse=0 --canonicalize %s | filecheck %s --check-prefix=ALL
// RUN: not nn-opt --debug-counter=canonicalise=1 %s 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not nn-opt --debug-counter=cse=x %s 2>&1 | filecheck %s --check-prefix=NUMBER

// ZERO-COUNT-3: arith.mulf
// ONE-COUNT-2: arith.mulf
// ONE-NOT: arith.mulf
// ALL-NOT: arith.mulf
// NAME: unknown pass 'canonicalise'
// NAME: did you mean canonicalize?
// NUMBER: --debug-counter is 'cse=x', expected PASS=NUMBER
func.func @f(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %a = arith.mulf %x, %one : f32
  %b = arith.mulf %a, %one : f32
  %c = arith.mulf %b, %one : f32
  func.return %c : f32
}
