// RUN: nn-opt --convert-loop-to-llvm --target=zen4 %s | filecheck %s --check-prefix=VNNI
// RUN: nn-opt --convert-loop-to-llvm --target=x86-64-v4 %s | filecheck %s --check-prefix=PAIRS
// RUN: nn-opt --convert-loop-to-llvm --target=neon %s | filecheck %s --check-prefix=BYTES

// Four products of bytes on each lane: one instruction, two of pairs of 16 bits, or four of 32.
// VNNI-COUNT-1:  "llvm.x86.avx512.vpdpbusd.512"
// VNNI-NOT:      pmaddw
// PAIRS-COUNT-2: "llvm.x86.avx512.pmaddw.d.512"
// PAIRS-NOT:     vpdpbusd
// BYTES-COUNT-4: llvm.mul {{.*}} : vector<16xi32>
// BYTES-NOT:     x86
func.func @dot(%a: memref<4xi8>, %b: memref<64xi8>, %c: memref<16xi32>) attributes {kernel, num_outputs = 1 : i64} {
  %x = loop.load %a[0] : memref<4xi8>, vector<4xi8>
  %y = loop.load %b[0] : memref<64xi8>, vector<64xi8>
  %z = loop.load %c[0] : memref<16xi32>, vector<16xi32>
  %d = loop.dot unsigned %z, %x, %y : vector<16xi32>, vector<4xi8>
  loop.store %d, %c[0] : memref<16xi32>, vector<16xi32>
  func.return
}
