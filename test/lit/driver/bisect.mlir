// The pass, and the rewrite in it, after which a command fails; what was there before and after.
// RUN: nn-opt --bisect="sh -c 'grep -q arith.subf {}'" --cse --dce --canonicalize --cse -o %t.out %s
// RUN: filecheck %s <%t.out
// RUN: filecheck %s --check-prefix=BEFORE <%t.out.rewrite-before.mlir
// RUN: filecheck %s --check-prefix=AFTER <%t.out.rewrite-after.mlir
// RUN: grep -q arith.subf %t.out.pass-before.mlir
// RUN: not grep -q arith.subf %t.out.pass-after.mlir
// RUN: not nn-opt --bisect="grep -q arith.divf" --canonicalize %s 2>&1 | filecheck %s --check-prefix=ALREADY
// RUN: not nn-opt --bisect="grep -q func" --canonicalize %s 2>&1 | filecheck %s --check-prefix=NEVER
// RUN: nn-opt --bisect="sh -c 'test $(grep -c arith.constant {}) -ge 4'" --dce --cse -o %t.cse %s
// RUN: filecheck %s --check-prefix=CSE <%t.cse
// RUN: not nn-opt --bisect=/no/such/tool --cse %s 2>&1 | filecheck %s --check-prefix=TOOL
// RUN: not nn-opt --bisect="'" --cse %s 2>&1 | filecheck %s --check-prefix=WORDS

// CHECK: --canonicalize (pass 3 of 4) makes the command fail
// CHECK: before: {{.*}}pass-before.mlir
// CHECK: after: {{.*}}pass-after.mlir
// CHECK: rewrite 2 of 5: arith.subf at {{.*}}bisect.mlir:33:8 by NeutralOperand (--debug-counter=canonicalize=2)
// BEFORE: arith.subf
// AFTER-NOT: arith.subf
// ALREADY: --bisect: the command fails on the input already
// NEVER: --bisect: the command succeeds after all passes
// CSE: --cse (pass 2 of 2) makes the command fail
// CSE: counts no rewrites
// TOOL: cannot run '/no/such/tool': No such file
// WORDS: --bisect is ''': No closing quotation
func.func @f(%x: f32) -> (f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %three = arith.constant 3.0 : f32
  %again = arith.constant 3.0 : f32
  %a = arith.mulf %x, %one : f32
  %s = arith.subf %a, %zero : f32
  %b = arith.mulf %s, %one : f32
  func.return %b, %three, %again : f32, f32, f32
}
