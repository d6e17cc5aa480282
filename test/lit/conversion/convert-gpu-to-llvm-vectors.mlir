// RUN: nn-opt --convert-gpu-to-llvm %s | filecheck %s

// Buffers start at multiples of 16 bytes; a vector is moved at once where its place surely is one.
// CHECK-LABEL: @vectors
// CHECK:      llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:      llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:      llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:      llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf32>
// CHECK:      llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:      llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
gpu.module @kernels {
  gpu.func @vectors(%x: memref<16x8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %t = gpu.thread_id x
    %tile = loop.alloc "tile" : memref<32xf32, "shared">
    %a = loop.load %x[%t, 4] : memref<16x8xf32>, vector<4xf32>
    %b = loop.load %x[%t, 2] : memref<16x8xf32>, vector<4xf32>
    %c = loop.load %x[2 * %t, 1] : memref<16x8xf32>, vector<4xf32>
    %d = loop.load %x[%t, 0] : memref<16x8xf32>, vector<8xf32>
    %e = loop.load %x[0, %t] : memref<16x8xf32>, vector<4xf32>
    %s = arith.addf %a, %e : vector<4xf32>
    loop.store %s, %tile[4 * %t] : memref<32xf32, "shared">, vector<4xf32>
    loop.store %b, %tile[0] : memref<32xf32, "shared">, vector<4xf32>
    loop.store %c, %tile[0] : memref<32xf32, "shared">, vector<4xf32>
    loop.store %d, %x[0, 0] : memref<16x8xf32>, vector<8xf32>
    gpu.return
  }
}
