// RUN: nn-opt --split-input-file --insert-timers %s | filecheck %s

// CHECK-LABEL: llvm.func @nn_main
// CHECK-NEXT:    %[[START:.*]] = llvm.mlir.constant(-1) : i64
// CHECK-NEXT:    llvm.call @nn_profile(%[[START]])
// CHECK-NEXT:    llvm.call @first
// CHECK-NEXT:    %[[FIRST:.*]] = llvm.mlir.constant(0) : i64
// CHECK-NEXT:    llvm.call @nn_profile(%[[FIRST]])
// CHECK-NEXT:    llvm.call @outside
// CHECK-NEXT:    llvm.call @first
// CHECK-NEXT:    %[[SECOND:.*]] = llvm.mlir.constant(1) : i64
// CHECK-NEXT:    llvm.call @nn_profile(%[[SECOND]])
// CHECK-NEXT:    llvm.return
// CHECK:       llvm.func @nn_profile(i64)
llvm.func @nn_main() {
  llvm.call @first() : () -> ()
  llvm.call @outside() : () -> ()
  llvm.call @first() : () -> ()
  llvm.return
}
llvm.func internal @first() {
  llvm.return
}
llvm.func @outside()
