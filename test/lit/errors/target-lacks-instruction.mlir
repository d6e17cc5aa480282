// RUN: nn-opt --verify-diagnostics --target=x86-64-v3 --convert-loop-to-llvm %s

func.func @f(%x: memref<2xbf16>, %y: memref<32xbf16>, %z: memref<16xf32>) {
  %a = loop.load %x[0] : memref<2xbf16>, vector<2xbf16>
  %b = loop.load %y[0] : memref<32xbf16>, vector<32xbf16>
  %c = loop.load %z[0] : memref<16xf32>, vector<16xf32>
  // expected-error@+1 {{loop.dot: the target 'x86-64-v3' (x86-64-v3) lacks avx512bf16}}
  %d = loop.dot %c, %a, %b : vector<16xf32>, vector<2xbf16>
  loop.store %d, %z[0] : memref<16xf32>, vector<16xf32>
  func.return
}
