// RUN: nn-opt --split-input-file %s | nn-opt --split-input-file | filecheck %s
// RUN: nn-opt --print-op-generic --split-input-file %s | nn-opt --split-input-file | filecheck %s

// A kernel, its module with what the device has, and the host that launches it.
// CHECK:      builtin.module attributes {gpu.container_module} {
// CHECK-NEXT:   gpu.module @kernels attributes {gpu.limits = #gpu.limits<cuda, threads = 64, shared_bytes = 256, arguments = 3, subgroup = 32, grid = [8, 4, 4], block = [64, 32, 2]>} {
// CHECK-NEXT:     gpu.func @f(%x: memref<64xf32>, %y: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 2, 1, 1>, nn.nodes = ["Conv_0", "Relu_1"]} {
// CHECK-NEXT:       %bx = gpu.block_id x
// CHECK-NEXT:       %ty = gpu.thread_id y upper_bound 32
// CHECK-NEXT:       %n = gpu.block_dim z
// CHECK-NEXT:       %m = gpu.grid_dim x
// CHECK-NEXT:       %g = gpu.global_id x
// CHECK-NEXT:       %tile = loop.alloc "tile" : memref<32xf32, "shared">
// CHECK-NEXT:       gpu.barrier
// CHECK-NEXT:       gpu.return
builtin.module attributes {gpu.container_module} {
  gpu.module @kernels attributes {gpu.limits = #gpu.limits<cuda, threads = 64, shared_bytes = 256, arguments = 3, subgroup = 32, grid = [8, 4, 4], block = [64, 32, 2]>} {
    gpu.func @f(%x: memref<64xf32>, %y: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 2, 1, 1>, nn.nodes = ["Conv_0", "Relu_1"]} {
      %bx = gpu.block_id x
      %ty = gpu.thread_id y upper_bound 32
      %n = gpu.block_dim z
      %m = gpu.grid_dim x
      %g = gpu.global_id x
      %tile = loop.alloc "tile" : memref<32xf32, "shared">
      gpu.barrier
      gpu.return
    }
    // CHECK:     gpu.func @sum(%x: f32) -> (f32) {
    // CHECK-NEXT:  gpu.return %x : f32
    gpu.func @sum(%x: f32) -> (f32) {
      gpu.return %x : f32
    }
    // CHECK:     gpu.func @buffers(%x: memref<4xf32>) workgroup(%t: memref<8xf32, "shared">) private(%p: memref<1xf32, "stack">) kernel {
    gpu.func @buffers(%x: memref<4xf32>) workgroup(%t: memref<8xf32, "shared">) private(%p: memref<1xf32, "stack">) kernel {
      gpu.return
    }
  }
  // CHECK:     gpu.launch_func @kernels::@f blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : memref<64xf32>, %y : memref<64xf32>) {nn.nodes = ["Conv_0"]}
  // CHECK-NEXT: %t = gpu.launch_func async [%r] @kernels::@f clusters in (%c1, %c1, %c1) blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) dynamic_shared_memory_size %s args(%x : memref<64xf32>, %y : memref<64xf32>)
  // CHECK-NEXT: gpu.launch_func @kernels::@buffers blocks in (%s, %s, %s) threads in (%s, %s, %s) : i32 args(%z : memref<4xf32>)
  func.func @main(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<4xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %s = arith.constant 1 : i32
    %r = gpu.wait async
    gpu.launch_func @kernels::@f blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : memref<64xf32>, %y : memref<64xf32>) {nn.nodes = ["Conv_0"]}
    %t = gpu.launch_func async [%r] @kernels::@f clusters in (%c1, %c1, %c1) blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) dynamic_shared_memory_size %s args(%x : memref<64xf32>, %y : memref<64xf32>)
    gpu.launch_func @kernels::@buffers blocks in (%s, %s, %s) threads in (%s, %s, %s) : i32 args(%z : memref<4xf32>)
    func.return
  }
}

// -----

// What threads do together.
// CHECK-LABEL: @together
// CHECK:      %lane = gpu.lane_id
// CHECK-NEXT: %warp = gpu.subgroup_id upper_bound 2 : index
// CHECK-NEXT: %width = gpu.subgroup_size : index
// CHECK-NEXT: %warps = gpu.num_subgroups : index
// CHECK-NEXT: %s, %valid = gpu.shuffle xor %x, %o, %w : f32
// CHECK-NEXT: %r, %there = gpu.rotate %x, 4, 16 : f32
// CHECK-NEXT: %a = gpu.subgroup_reduce add %x : (f32) -> f32
// CHECK-NEXT: %b = gpu.subgroup_reduce maximumf %x uniform cluster(size = 4, stride = 2) : (f32) -> f32
// CHECK-NEXT: %c = gpu.subgroup_broadcast %x, first_active_lane : f32
// CHECK-NEXT: %d = gpu.subgroup_broadcast %x, specific_lane %o : f32
// CHECK-NEXT: %e = gpu.ballot %p : i32
// CHECK-NEXT: %f = gpu.all_reduce mul %x uniform {
// CHECK-NEXT: } : (f32) -> f32
// CHECK-NEXT: %g = gpu.all_reduce %x {
// CHECK-NEXT: ^bb0(%l: f32, %m: f32):
// CHECK-NEXT:   %n = arith.mulf %l, %m : f32
// CHECK-NEXT:   gpu.yield %n : f32
// CHECK-NEXT: } : (f32) -> f32
func.func @together(%x: f32, %o: i32, %w: i32, %p: i1) {
  %lane = gpu.lane_id
  %warp = gpu.subgroup_id upper_bound 2 : index
  %width = gpu.subgroup_size : index
  %warps = gpu.num_subgroups : index
  %s, %valid = gpu.shuffle xor %x, %o, %w : f32
  %r, %there = gpu.rotate %x, 4, 16 : f32
  %a = gpu.subgroup_reduce add %x : (f32) -> f32
  %b = gpu.subgroup_reduce maximumf %x uniform cluster(size = 4, stride = 2) : (f32) -> f32
  %c = gpu.subgroup_broadcast %x, first_active_lane : f32
  %d = gpu.subgroup_broadcast %x, specific_lane %o : f32
  %e = gpu.ballot %p : i32
  %f = gpu.all_reduce mul %x uniform {
  } : (f32) -> f32
  %g = gpu.all_reduce %x {
  ^bb0(%l: f32, %m: f32):
    %n = arith.mulf %l, %m : f32
    gpu.yield %n : f32
  } : (f32) -> f32
  func.return
}

// -----

// Memory: atomics, asynchronous copies, fragments.
// CHECK-LABEL: @memory
// CHECK:      %old = gpu.atomic addf %v, %x[%i + 1, 0] : memref<32x32xf32>
// CHECK-NEXT: gpu.async_copy 4 %x[%i, 4 * %j] to %t[%j, 0] : memref<32x32xf32> to memref<8x4xf32, "shared">
// CHECK-NEXT: gpu.async_commit
// CHECK-NEXT: gpu.async_wait 1
// CHECK-NEXT: %a = gpu.subgroup_mma_load_matrix %h[%i, %j] {leadDimension = 32 : index} : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
// CHECK-NEXT: %b = gpu.subgroup_mma_load_matrix %h[%i, %j] {leadDimension = 32 : index, transpose} : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
// CHECK-NEXT: %c = gpu.subgroup_mma_constant_matrix %v : !gpu.mma_matrix<16x16xf32, "COp">
// CHECK-NEXT: %d = gpu.subgroup_mma_compute %a, %b, %c {b_transpose} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
// CHECK-NEXT: %e = gpu.subgroup_mma_elementwise addf %d, %c : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
// CHECK-NEXT: gpu.subgroup_mma_store_matrix %e, %x[%i, %j] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<32x32xf32>
func.func @memory(%x: memref<32x32xf32>, %h: memref<32x32xf16>, %t: memref<8x4xf32, "shared">, %v: f32, %i: index, %j: index) {
  %old = gpu.atomic addf %v, %x[%i + 1, 0] : memref<32x32xf32>
  gpu.async_copy 4 %x[%i, 4 * %j] to %t[%j, 0] : memref<32x32xf32> to memref<8x4xf32, "shared">
  gpu.async_commit
  gpu.async_wait 1
  %a = gpu.subgroup_mma_load_matrix %h[%i, %j] {leadDimension = 32 : index} : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %b = gpu.subgroup_mma_load_matrix %h[%i, %j] {leadDimension = 32 : index, transpose} : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %c = gpu.subgroup_mma_constant_matrix %v : !gpu.mma_matrix<16x16xf32, "COp">
  %d = gpu.subgroup_mma_compute %a, %b, %c {b_transpose} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  %e = gpu.subgroup_mma_elementwise addf %d, %c : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %e, %x[%i, %j] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<32x32xf32>
  func.return
}

// -----

// The host.
// CHECK-LABEL: @host
// CHECK:      %t = gpu.wait async
// CHECK-NEXT: %a, %u = gpu.alloc async [%t] (%n) : memref<?xf32>
// CHECK-NEXT: %b = gpu.alloc host_shared () : memref<4xf32>
// CHECK-NEXT: %d = gpu.alloc ()[%n] : memref<4xf32>
// CHECK-NEXT: gpu.wait [%u]
// CHECK-NEXT: gpu.memcpy %b, %d : memref<4xf32>, memref<4xf32>
// CHECK-NEXT: %w = gpu.memcpy async %b, %d : memref<4xf32>, memref<4xf32>
// CHECK-NEXT: gpu.dealloc [%w] %b : memref<4xf32>
// CHECK-NEXT: gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) dynamic_shared_memory_size %i {
// CHECK-NEXT:   gpu.terminator
// CHECK-NEXT: }
// CHECK-NEXT: gpu.host_register %r : memref<*xf32>
// CHECK-NEXT: gpu.host_unregister %r : memref<*xf32>
// CHECK-NEXT: gpu.set_default_device %i
func.func @host(%n: index, %i: i32, %r: memref<*xf32>) {
  %t = gpu.wait async
  %a, %u = gpu.alloc async [%t] (%n) : memref<?xf32>
  %b = gpu.alloc host_shared () : memref<4xf32>
  %d = gpu.alloc ()[%n] : memref<4xf32>
  gpu.wait [%u]
  gpu.memcpy %b, %d : memref<4xf32>, memref<4xf32>
  %w = gpu.memcpy async %b, %d : memref<4xf32>, memref<4xf32>
  gpu.dealloc [%w] %b : memref<4xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) dynamic_shared_memory_size %i {
    gpu.terminator
  }
  gpu.host_register %r : memref<*xf32>
  gpu.host_unregister %r : memref<*xf32>
  gpu.set_default_device %i
  func.return
}
