// RUN: nn-opt --gpu-verify --split-input-file %s | filecheck %s

// Within all limits: guards keep the last block inside, all threads come to the barrier.
// CHECK: gpu.func @right
builtin.module attributes {gpu.container_module} {
  gpu.module @kernels attributes {gpu.limits = #gpu.limits<cuda, threads = 64, shared_bytes = 256, arguments = 3, subgroup = 32, grid = [8, 4, 4], block = [64, 32, 2]>} {
    gpu.func @right(%x: memref<50xf32>, %y: memref<50xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %tile = loop.alloc "tile" : memref<64xf32, "shared">
      loop.if (49 - 16 * %b - %t >= 0) {
        %v = loop.load %x[16 * %b + %t] : memref<50xf32>
        loop.store %v, %tile[%t] : memref<64xf32, "shared">
      }
      loop.if (1 - %b >= 0) {
        loop.if (15 - %t >= 0) {
          gpu.barrier
        }
      }
      %outside = loop.load %x[16 * %b + %t] or 0.0 : memref<50xf32>
      loop.for %k = 0 to 4 {
        loop.if (49 - 16 * %b - 4 * %k >= 0) {
          %v = loop.load %tile[4 * %k] : memref<64xf32, "shared">, vector<4xf32>
        }
      }
      gpu.return
    }
  }
  func.func @main(%x: memref<50xf32>, %y: memref<50xf32>) attributes {num_outputs = 1 : i64} {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    gpu.launch_func @kernels::@right blocks in (%c4, %c1, %c1) threads in (%c16, %c1, %c1) args(%x : memref<50xf32>, %y : memref<50xf32>)
    func.return
  }
}

// -----

// The second subgroup reduces alone: its threads come together, or do not.
// CHECK: gpu.func @one_subgroup
gpu.module @kernels attributes {gpu.limits = #gpu.limits<cuda, threads = 64, shared_bytes = 256, arguments = 3, subgroup = 32, grid = [8, 4, 4], block = [64, 32, 2]>} {
  gpu.func @one_subgroup(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %v = loop.load %x[%t] : memref<64xf32>
    loop.if (%t - 32 >= 0) {
      %s = gpu.subgroup_reduce add %v : (f32) -> f32
      loop.if (32 - %t >= 0) {
        loop.store %s, %x[0] : memref<64xf32>
      }
    }
    gpu.return
  }
}
