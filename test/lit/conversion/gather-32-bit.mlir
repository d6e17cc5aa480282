// RUN: nn-opt --target=wasm --convert-loop-to-llvm %s | filecheck %s
// RUN: nn-opt --target=neon --convert-loop-to-llvm %s | filecheck %s --check-prefix=WIDE

// Places are as wide as pointers; whether an index is inside is asked of all of it.
// CHECK:     llvm.trunc %{{.*}} : vector<4xi64> to vector<4xi32>
// CHECK:     llvm.getelementptr %x[%{{.*}}] : (!llvm.ptr, vector<4xi32>)
// CHECK:     llvm.icmp "ult" %{{.*}} : vector<4xi64>
// WIDE-NOT:  llvm.trunc
// WIDE:      llvm.getelementptr %x[%{{.*}}] : (!llvm.ptr, vector<4xi64>)
func.func @k(%x: memref<9x5xf32>, %i: memref<4xi64>, %y: memref<4xf32>) {
  %a = loop.load %i[0] : memref<4xi64>, vector<4xi64>
  %v = loop.gather 4 %x[%a, %a] or 0.0 : memref<9x5xf32>
  loop.store %v, %y[0] : memref<4xf32>, vector<4xf32>
  func.return
}
