// A variable is set where it is declared, a condition has no minus signs, and neighbouring blocks
// under one condition are one, unless a barrier is in between.
// RUN: nn-opt --emit=opencl %s | filecheck %s

// CHECK:        const int tx = get_local_id(0);
// CHECK-NEXT:   float sum_at0 = 0.0f;
// CHECK-NEXT:   if (tx <= 0) {
// CHECK-NEXT:     sum_at0 = x[0];
// CHECK-NEXT:     tile[0] = 0.0f;
// CHECK-NEXT:   }
// CHECK-NEXT:   barrier(CLK_LOCAL_MEM_FENCE);
// CHECK-NEXT:   if (tx <= 0) {
// CHECK-NEXT:     y[1] = tile[0];
// CHECK-NEXT:   }
// CHECK-NEXT:   if (tx < 5) {
// CHECK-NEXT:     y[tx] = sum_at0;
// CHECK-NEXT:   }
// CHECK-NEXT: }

gpu.module @kernels {
  gpu.func @f(%x: memref<8xf32>, %y: memref<8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %tx = gpu.thread_id x
    %tile = loop.alloc "tile" : memref<1xf32, "shared">
    %sum = loop.alloc "sum" : memref<1xf32, "register">
    %zero = arith.constant 0.0 : f32
    loop.store %zero, %sum[0] : memref<1xf32, "register">
    loop.if (-%tx >= 0) {
      %a = loop.load %x[0] : memref<8xf32>
      loop.store %a, %sum[0] : memref<1xf32, "register">
    }
    loop.if (-%tx >= 0) {
      loop.store %zero, %tile[0] : memref<1xf32, "shared">
    }
    gpu.barrier
    loop.if (-%tx >= 0) {
      %b = loop.load %tile[0] : memref<1xf32, "shared">
      loop.store %b, %y[1] : memref<8xf32>
    }
    loop.if (4 - %tx >= 0) {
      %c = loop.load %sum[0] : memref<1xf32, "register">
      loop.store %c, %y[%tx] : memref<8xf32>
    }
    gpu.return
  }
}
