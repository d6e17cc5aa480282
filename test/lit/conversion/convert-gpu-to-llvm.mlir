// RUN: nn-opt --convert-gpu-to-llvm --split-input-file %s | filecheck %s
// RUN: nn-opt --convert-gpu-to-llvm=device=spirv --split-input-file %s | filecheck %s --check-prefix=SPIRV

// Global and shared memory are address spaces, ids are registers of PTX or functions of OpenCL C.
// CHECK:      llvm.mlir.global internal @f_tile0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x i8>
// CHECK:      llvm.func ptx_kernelcc @f(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {no_unwind, nn.nodes = ["Sub_0"], passthrough = {{\[\[}}"nvvm.reqntid", "64,1,1"]]} {
// CHECK:        %[[T:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
// CHECK-NEXT:   llvm.zext %[[T]] : i32 to i64
// CHECK:        llvm.mlir.addressof @f_tile0 : !llvm.ptr<3>
// CHECK:        %[[V:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NEXT:   llvm.store %[[V]], %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NEXT:   llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
// CHECK:        llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK:        llvm.return
// SPIRV:      llvm.func @_Z12get_local_idj(i32) -> i64 attributes {passthrough = ["convergent"]}
// SPIRV:      llvm.func @_Z7barrierj(i32) attributes {passthrough = ["convergent"]}
// SPIRV:      llvm.func spir_kernelcc @f(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
// SPIRV:        llvm.call @_Z12get_local_idj(%{{.*}}) : (i32) -> i64
// SPIRV:        llvm.call @_Z7barrierj(%{{.*}}) : (i32) -> ()
gpu.module @kernels {
  gpu.func @f(%x: memref<64xf32>, %y: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>, nn.nodes = ["Sub_0"]} {
    %t = gpu.thread_id x
    %tile = loop.alloc "tile" : memref<64xf32, "shared">
    %v = loop.load %x[%t] : memref<64xf32>
    loop.store %v, %tile[%t] : memref<64xf32, "shared">
    gpu.barrier
    %w = loop.load %tile[63 - %t] : memref<64xf32, "shared">
    loop.store %w, %y[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// Constants lie in memory of their own; a buffer of a thread is on its stack.
// CHECK:      llvm.mlir.global private unnamed_addr constant @g.constant0(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>) {addr_space = 4 : i32, alignment = 64 : i64}
// CHECK:        llvm.alloca
// CHECK:        llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<4> -> f32
// CHECK:        llvm.store %{{.*}} : f32, !llvm.ptr
// SPIRV:        llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<2> -> f32
gpu.module @kernels {
  gpu.func @g(%y: memref<2xf32>) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %t = gpu.thread_id x
    %own = loop.alloc "own" : memref<1xf32, "register">
    %c = loop.constant dense<[1.0, 2.0]> : tensor<2xf32> to memref<2xf32>
    %v = loop.load %c[%t] : memref<2xf32>
    loop.store %v, %own[0] : memref<1xf32, "register">
    %w = loop.load %own[0] : memref<1xf32, "register">
    loop.store %w, %y[%t] : memref<2xf32>
    gpu.return
  }
}

// -----

// Atomics order nothing but their own place.
// CHECK-LABEL: llvm.func ptx_kernelcc @atomics
// CHECK:      llvm.atomicrmw umax %{{.*}}, %{{.*}} monotonic : !llvm.ptr<1>, i32
// CHECK:      %[[OLD:.*]] = llvm.atomicrmw xchg %{{.*}}, %{{.*}} monotonic : !llvm.ptr<3>, i32
// CHECK:      llvm.store %[[OLD]]
// SPIRV:      llvm.atomicrmw umax
gpu.module @kernels {
  gpu.func @atomics(%x: memref<4x8xi32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %t = gpu.thread_id x
    %tile = loop.alloc "tile" : memref<8xi32, "shared">
    %v = loop.load %x[1, %t] : memref<4x8xi32>
    %a = gpu.atomic maxu %v, %x[0, %t floordiv 2] : memref<4x8xi32>
    %b = gpu.atomic assign %v, %tile[%t] : memref<8xi32, "shared">
    loop.store %b, %x[2, %t] : memref<4x8xi32>
    gpu.return
  }
}
