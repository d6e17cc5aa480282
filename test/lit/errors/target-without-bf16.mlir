// RUN: not nn-opt --target=x86-64-v3 --lower-precision=precision=bf16 %s 2>&1 | filecheck %s

// CHECK:      error: precision 'bf16': the target 'x86-64-v3' (x86-64-v3) lacks avx512bf16
// CHECK-NEXT:   hint: compile with precision 'f32', or for a machine such as 'zen4'
func.func @f() {
  func.return
}
