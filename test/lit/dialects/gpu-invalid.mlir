// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @kind(%x: f32) {
  // expected-error@+1 {{gpu.subgroup_reduce: combines f32 by and, expected one of add, mul, minnumf, maxnumf, minimumf, maximumf}}
  %a = gpu.subgroup_reduce and %x : (f32) -> f32
  func.return
}

// -----

func.func @clusters(%x: f32) {
  // expected-error@+1 {{gpu.subgroup_reduce: cluster size is 3, expected a power of two}}
  %a = gpu.subgroup_reduce add %x cluster(size = 3) : (f32) -> f32
  // expected-error@+1 {{gpu.subgroup_reduce: cluster stride is 6, expected a power of two}}
  %b = gpu.subgroup_reduce add %x cluster(size = 4, stride = 6) : (f32) -> f32
  func.return
}

// -----

func.func @rotate(%x: f32) {
  // expected-error@+1 {{gpu.rotate: width is 12, expected a power of two}}
  %a, %av = gpu.rotate %x, 4, 12 : f32
  // expected-error@+1 {{gpu.rotate: offset is 16, expected 0 to 15}}
  %b, %bv = gpu.rotate %x, 16, 16 : f32
  func.return
}

// -----

func.func @broadcast(%x: f32, %l: i32) {
  // expected-error@+1 {{gpu.subgroup_broadcast: specific_lane has no lane}}
  %a = gpu.subgroup_broadcast %x, specific_lane : f32
  // expected-error@+1 {{gpu.subgroup_broadcast: first_active_lane has a lane}}
  %b = gpu.subgroup_broadcast %x, first_active_lane %l : f32
  func.return
}

// -----

func.func @ballot(%p: i1) {
  // expected-error@+1 {{gpu.ballot: result is i16, expected i32 or i64}}
  %a = gpu.ballot %p : i16
  func.return
}

// -----

func.func @all_reduce(%x: f32) {
  // expected-error@+1 {{gpu.all_reduce: has neither a kind nor a body, expected one of them}}
  %a = gpu.all_reduce %x {
  } : (f32) -> f32
  // expected-error@+1 {{gpu.all_reduce: has both a kind and a body, expected one of them}}
  %b = gpu.all_reduce add %x {
  ^bb0(%l: f32, %r: f32):
    gpu.yield %l : f32
  } : (f32) -> f32
  // expected-error@+1 {{gpu.all_reduce: result is f64, expected f32}}
  %c = "gpu.all_reduce"(%x) <{op = #gpu<all_reduce_op add>}> ({
  }) : (f32) -> f64
  func.return
}

// -----

// expected-error@+1 {{!gpu.mma_matrix is 'DOp', expected AOp, BOp, COp}}
func.func @operand(%a: !gpu.mma_matrix<16x16xf16, "DOp">) {
  func.return
}

// -----

// expected-error@+1 {{!gpu.mma_matrix has elements f64, expected f16, f32 or i8}}
func.func @elements(%a: !gpu.mma_matrix<16x16xf64, "AOp">) {
  func.return
}

// -----

// expected-error@+1 {{a fragment has 3 dimensions, expected 2}}
func.func @dimensions(%a: !gpu.mma_matrix<2x16x16xf16, "AOp">) {
  func.return
}

// -----

func.func @fragments(%x: memref<32x32xf32>, %i: index, %a: !gpu.mma_matrix<16x8xf16, "AOp">, %b: !gpu.mma_matrix<16x16xf16, "BOp">, %c: !gpu.mma_matrix<16x16xf32, "COp">, %v: f16) {
  // expected-error@+1 {{gpu.subgroup_mma_load_matrix: has 1 indices for a buffer of rank 2}}
  %d = gpu.subgroup_mma_load_matrix %x[%i] {leadDimension = 32 : index} : memref<32x32xf32> -> !gpu.mma_matrix<16x16xf32, "AOp">
  // expected-error@+1 {{gpu.subgroup_mma_load_matrix: accesses !gpu.mma_matrix<16x16xf16, "AOp"> in a buffer of f32}}
  %e = gpu.subgroup_mma_load_matrix %x[%i, %i] {leadDimension = 32 : index} : memref<32x32xf32> -> !gpu.mma_matrix<16x16xf16, "AOp">
  // expected-error@+1 {{gpu.subgroup_mma_compute: multiplies a fragment BOp, expected AOp}}
  %f = gpu.subgroup_mma_compute %b, %b, %c : !gpu.mma_matrix<16x16xf16, "BOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  // expected-error@+1 {{gpu.subgroup_mma_compute: multiplies 16x8 by 16x16 into 16x16}}
  %g = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x8xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  // expected-error@+1 {{gpu.subgroup_mma_store_matrix: stores a fragment AOp, expected COp}}
  gpu.subgroup_mma_store_matrix %d, %x[%i, %i] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf32, "AOp">, memref<32x32xf32>
  // expected-error@+1 {{gpu.subgroup_mma_constant_matrix: fills !gpu.mma_matrix<16x16xf32, "COp"> with f16, expected f32}}
  %h = "gpu.subgroup_mma_constant_matrix"(%v) : (f16) -> !gpu.mma_matrix<16x16xf32, "COp">
  func.return
}

// -----

func.func @two(%a: !gpu.mma_matrix<16x16xf16, "AOp">, %c: !gpu.mma_matrix<16x16xf32, "COp">) {
  // expected-error@+1 {{multiplies 2 fragments, expected 3}}
  %f = gpu.subgroup_mma_compute %a, %c : !gpu.mma_matrix<16x16xf16, "AOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  func.return
}

// -----

func.func @fill(%v: f16) {
  // expected-error@+1 {{fills f16, expected !gpu.mma_matrix}}
  %h = gpu.subgroup_mma_constant_matrix %v : f16
  func.return
}

// -----

func.func @atomics(%x: memref<4xf32>, %v: f32, %w: i32, %i: index) {
  // expected-error@+1 {{gpu.atomic: has 2 indices for a buffer of rank 1}}
  %a = gpu.atomic addf %v, %x[%i, %i] : memref<4xf32>
  // expected-error@+1 {{gpu.atomic: map takes 2 values, 1 are given}}
  %b = "gpu.atomic"(%v, %x, %i) <{kind = #gpu<atomic_kind addf>, map = affine_map<(d0, d1) -> (d0)>}> : (f32, memref<4xf32>, index) -> f32
  // expected-error@+1 {{gpu.atomic: combines i32 with an element f32}}
  %c = "gpu.atomic"(%w, %x) <{kind = #gpu<atomic_kind addf>, map = affine_map<() -> (0)>}> : (i32, memref<4xf32>) -> f32
  // expected-error@+1 {{gpu.atomic: combines f32 by addi, expected one of addf, maximumf, maxnumf, minimumf, minnumf}}
  %d = gpu.atomic addi %v, %x[%i] : memref<4xf32>
  func.return
}

// -----

func.func @copies(%x: memref<4xf32>, %t: memref<4xf32, "shared">, %h: memref<4xf16, "shared">, %i: index) {
  // expected-error@+1 {{gpu.async_copy: has 2 indices for a source of rank 1}}
  gpu.async_copy 1 %x[%i, %i] to %t[%i] : memref<4xf32> to memref<4xf32, "shared">
  // expected-error@+1 {{gpu.async_copy: the target's map takes 2 values, 1 are given}}
  "gpu.async_copy"(%x, %t, %i) <{count = 1 : i64, source_map = affine_map<() -> (0)>, target_map = affine_map<(d0, d1) -> (d0)>, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (memref<4xf32>, memref<4xf32, "shared">, index) -> ()
  // expected-error@+1 {{gpu.async_copy: copies f32 to f16, expected the same type}}
  gpu.async_copy 2 %x[%i] to %h[%i] : memref<4xf32> to memref<4xf16, "shared">
  // expected-error@+1 {{gpu.async_copy: copies from shared to global memory, expected from global to shared memory}}
  gpu.async_copy 1 %t[%i] to %x[%i] : memref<4xf32, "shared"> to memref<4xf32>
  // expected-error@+1 {{gpu.async_copy: copies 12 bytes, expected one of 4, 8, 16}}
  gpu.async_copy 3 %x[%i] to %t[%i] : memref<4xf32> to memref<4xf32, "shared">
  // expected-error@+1 {{gpu.async_wait: leaves -1 groups, expected at least 0}}
  gpu.async_wait -1
  func.return
}

// -----

// expected-error@+1 {{grid has 2 numbers, expected 3: x, y, z}}
gpu.module @kernels attributes {gpu.limits = #gpu.limits<cuda, threads = 64, shared_bytes = 256, arguments = 3, subgroup = 32, grid = [8, 4], block = [64, 32, 2]>} {
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{gpu.func: a kernel returns f32}}
  gpu.func @f(%x: f32) -> (f32) kernel {
    gpu.return %x : f32
  }
  // expected-error@+1 {{gpu.func: known_block_size is [16, 0, 1], expected three numbers of at least 1}}
  gpu.func @g() kernel attributes {known_block_size = array<i32: 16, 0, 1>} {
    gpu.return
  }
  // expected-error@+1 {{gpu.func: body takes (i32), expected (f32)}}
  "gpu.func"() <{function_type = (f32) -> ()}> ({
  ^bb0(%x: i32):
    "gpu.return"() : () -> ()
  }) {sym_name = "h"} : () -> ()
}

// -----

func.func @name() {
  %c = arith.constant 1 : index
  // expected-error@+1 {{expected the name of a kernel, such as @kernels::@f}}
  gpu.launch_func 4 blocks in (%c, %c, %c) threads in (%c, %c, %c)
  func.return
}

// -----

gpu.module @kernels {
  gpu.func @f(%x: f32) {
    gpu.return
  }
}
func.func @sizes() {
  %c = arith.constant 1 : index
  // expected-error@+1 {{2 sizes are given, expected 3: x, y, z}}
  gpu.launch_func @kernels::@f blocks in (%c, %c) threads in (%c, %c, %c)
  func.return
}

// -----

gpu.module @kernels {
  gpu.func @helper(%x: f32) {
    gpu.return
  }
  // expected-note@+1 3 {{the kernel is here}}
  gpu.func @f(%x: f32) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    gpu.return
  }
}
func.func @launches(%x: f32, %y: i32) {
  %c = arith.constant 1 : index
  %d = arith.constant 1 : i32
  // expected-error@+1 {{gpu.launch_func: @kernels::@helper is no kernel}}
  gpu.launch_func @kernels::@helper blocks in (%c, %c, %c) threads in (%c, %c, %c) args(%x : f32)
  // expected-error@+1 {{gpu.launch_func: passes 2 arguments, @kernels::@f takes 1}}
  gpu.launch_func @kernels::@f blocks in (%c, %c, %c) threads in (%c, %c, %c) args(%x : f32, %x : f32)
  // expected-error@+1 {{gpu.launch_func: argument #0 is i32, @kernels::@f takes f32}}
  gpu.launch_func @kernels::@f blocks in (%c, %c, %c) threads in (%c, %c, %c) args(%y : i32)
  // expected-error@+1 {{gpu.launch_func: launches [1, 1, 1] threads, @kernels::@f is for [16, 1, 1]}}
  gpu.launch_func @kernels::@f blocks in (%c, %c, %c) threads in (%c, %c, %c) args(%x : f32)
  // expected-error@+1 {{gpu.launch_func: the sizes of the grid are i32, index}}
  "gpu.launch_func"(%c, %d, %c, %c, %c, %c, %x) <{kernel = @kernels::@f, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>}> : (index, i32, index, index, index, index, f32) -> ()
  func.return
}

// -----

func.func @host(%n: index, %a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error@+1 {{gpu.alloc: has 0 sizes, expected 1}}
  %x = gpu.alloc () : memref<?xf32>
  // expected-error@+1 {{gpu.memcpy: copies memref<8xf32> to memref<4xf32>, expected the same type}}
  gpu.memcpy %a, %b : memref<4xf32>, memref<8xf32>
  func.return
}

// -----

gpu.module @kernels attributes {gpu.limits = #gpu.limits<webgpu, threads = 64, shared_bytes = 256, arguments = 1, subgroup = 0, grid = [8, 4, 4], block = [64, 32, 2]>} {
  // expected-error@+5 {{gpu.func: a block has 256 threads (128 x 2 x 1), expected at most 64 on webgpu}}
  // expected-error@+4 {{gpu.func: a block has 128 threads along x, expected at most 64}}
  // expected-error@+3 {{gpu.func: the grid has 5 blocks along y, expected at most 4}}
  // expected-error@+2 {{gpu.func: a block takes 272 bytes of shared memory, expected at most 256}}
  // expected-error@+1 {{gpu.func: takes 2 buffers, expected at most 1 on webgpu}}
  gpu.func @f(%x: memref<4xf32>, %y: memref<4xf32>) kernel attributes {known_block_size = array<i32: 128, 2, 1>, known_grid_size = array<i32: 8, 5, 1>} {
    // expected-note@+1 {{4 bytes are 'one'}}
    %a = loop.alloc "one" : memref<1xf32, "shared">
    // expected-note@+1 {{256 bytes are 'tile'}}
    %b = loop.alloc "tile" : memref<64xf32, "shared">
    // expected-error@+1 {{gpu.lane_id: the threads of a subgroup are not known on webgpu}}
    %l = gpu.lane_id
    gpu.return
  }
}

// -----

gpu.module @kernels attributes {gpu.limits = #gpu.limits<cuda, threads = 64, shared_bytes = 256, arguments = 1, subgroup = 32, grid = [8, 4, 4], block = [64, 32, 2]>} {
  // expected-error@+1 {{gpu.func: a block has 48 threads, expected a multiple of the 32 of a subgroup}}
  gpu.func @f(%x: f32) kernel attributes {known_block_size = array<i32: 48, 1, 1>} {
    // expected-note@+1 {{a subgroup works together here}}
    %a = gpu.subgroup_reduce add %x cluster(size = 32) : (f32) -> f32
    // expected-error@+1 {{gpu.subgroup_reduce: combines lanes up to 62 apart, a subgroup has 32}}
    %b = gpu.subgroup_reduce add %x cluster(size = 32, stride = 2) : (f32) -> f32
    gpu.return
  }
}
