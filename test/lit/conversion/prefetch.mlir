// RUN: nn-opt --convert-loop-to-llvm %s | filecheck %s

// Two loads of one place ask once for what is 32 elements further on.
// CHECK-LABEL: @hint
// CHECK:     llvm.load
// CHECK:     llvm.call_intrinsic "llvm.prefetch"
// CHECK-NOT: llvm.call_intrinsic "llvm.prefetch"
func.func @hint(%x: memref<64xf32>, %y: memref<16xf32>) attributes {kernel, num_outputs = 1 : i64} {
  %a = loop.load %x[0] {prefetch = 32 : i64} : memref<64xf32>, vector<16xf32>
  %b = loop.load %x[0] {prefetch = 32 : i64} : memref<64xf32>, vector<16xf32>
  %c = arith.addf %a, %b : vector<16xf32>
  loop.store %c, %y[0] : memref<16xf32>, vector<16xf32>
  func.return
}
