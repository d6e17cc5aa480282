// RUN: nn-opt --tensorize-loops %s | filecheck %s

// CHECK-LABEL: @pairs
// CHECK:      loop.for %i = 0 to 6 {
// CHECK-NEXT:   %[[A:.*]] = loop.load %x[2 * %i] : memref<12xbf16>, vector<2xbf16>
// CHECK-NEXT:   %[[B:.*]] = loop.load %w[%i, 0, 0] : memref<6x16x2xbf16>, vector<32xbf16>
// CHECK-NEXT:   %[[C:.*]] = loop.load %y[0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT:   %[[D:.*]] = loop.dot %[[C]], %[[A]], %[[B]] : vector<16xf32>, vector<2xbf16>
// CHECK-NEXT:   loop.store %[[D]], %y[0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT: }
func.func @pairs(%x: memref<12xbf16>, %w: memref<6x16x2xbf16>, %y: memref<16xf32>) {
  loop.for %i = 0 to 6 {
    loop.for %l = 0 to 16 vector attributes {intrinsic = "dot_bf16x2"} {
      loop.for %k = 0 to 2 {
        %a = loop.load %x[2 * %i + %k] : memref<12xbf16>
        %b = loop.load %w[%i, %l, %k] : memref<6x16x2xbf16>
        %c = loop.load %y[%l] : memref<16xf32>
        %d = arith.extf %a : bf16 to f32
        %e = arith.extf %b : bf16 to f32
        %f = math.fma %d, %e, %c : f32
        loop.store %f, %y[%l] : memref<16xf32>
      }
    }
  }
  func.return
}
