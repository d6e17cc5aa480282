// RUN: nn-opt --convert-gpu-to-llvm %s | filecheck %s

// A subgroup's sum is five shuffles, of which each gives all lanes the sum of twice as many.
// CHECK-LABEL: @sum
// CHECK:         llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.laneid"
// CHECK-COUNT-5: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.f32"
// CHECK:         llvm.call_intrinsic "llvm.nvvm.vote.ballot.sync"
gpu.module @kernels {
  gpu.func @sum(%x: memref<32xf32>, %y: memref<32xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %v = loop.load %x[%t] : memref<32xf32>
    %s = gpu.subgroup_reduce add %v : (f32) -> f32
    loop.store %s, %x[%t] : memref<32xf32>
    %p = arith.cmpf olt, %v, %s : f32
    %b = gpu.ballot %p : i32
    %l = gpu.lane_id
    loop.store %b, %y[%l] : memref<32xi32>
    gpu.return
  }
}
