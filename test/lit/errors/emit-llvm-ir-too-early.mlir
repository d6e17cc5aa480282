// RUN: not nn-opt --emit=llvm-ir %s 2>&1 | filecheck %s

// CHECK:      error: func.func: is no function or global of LLVM
// CHECK-NEXT: {{.*}}
// CHECK-NEXT: {{.*}}
// CHECK-NEXT:   hint: run --convert-loop-to-llvm first
func.func @f() {
  func.return
}
