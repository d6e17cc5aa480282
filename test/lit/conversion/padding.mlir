// RUN: nn-opt --convert-loop-to-llvm %s | filecheck %s

// The first factor of the first tap and of the last lies in padding of zeros: two products are left.
// CHECK-LABEL: @zeros_add_nothing
// CHECK:         llvm.intr.fma
// CHECK:         llvm.intr.fma
// CHECK-NOT:     llvm.intr.fma
// CHECK:         llvm.return
func.func @zeros_add_nothing(%x: memref<2xf32>, %w: memref<4xf32>, %y: memref<1xf32>) attributes {num_outputs = 1 : i64} {
  %z = arith.constant 0.0 : f32
  %sum = loop.alloc "sum" : memref<1xf32, "register">
  loop.store %z, %sum[0] : memref<1xf32, "register">
  loop.for %s = 0 to 4 unroll {
    %a = loop.load %x[%s - 1] or 0.0 : memref<2xf32>
    %b = loop.load %w[%s] : memref<4xf32>
    %c = loop.load %sum[0] : memref<1xf32, "register">
    %d = math.fma %a, %b, %c : f32
    loop.store %d, %sum[0] : memref<1xf32, "register">
  }
  %t = loop.load %sum[0] : memref<1xf32, "register">
  loop.store %t, %y[0] : memref<1xf32>
  func.return
}

// Padding of another number, a zero that is no padding, and what may be inside are factors.
// CHECK-LABEL: @others_stay
// CHECK-COUNT-3: llvm.intr.fma
// CHECK:         llvm.return
func.func @others_stay(%x: memref<4xf32>, %w: memref<4xf32>, %y: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  %z = arith.constant 0.0 : f32
  loop.for %i = 0 to 4 {
    %a = loop.load %x[-1] or 1.0 : memref<4xf32>
    %b = loop.load %x[%i - 1] or 0.0 : memref<4xf32>
    %c = loop.load %w[%i] : memref<4xf32>
    %d = math.fma %a, %c, %c : f32
    %e = math.fma %z, %c, %d : f32
    %f = math.fma %b, %c, %e : f32
    loop.store %f, %y[%i] : memref<4xf32>
  }
  func.return
}
