// RUN: not nn-opt --emit=llvm-ir %s 2>&1 | filecheck %s

// CHECK:      error: arith.addi: LLVM has no word for this
// CHECK-NEXT: {{.*}}
// CHECK-NEXT: {{.*}}
// CHECK-NEXT:   hint: run --convert-loop-to-llvm first
llvm.func @f(%x: i32) {
  %y = arith.addi %x, %x : i32
  llvm.return
}
