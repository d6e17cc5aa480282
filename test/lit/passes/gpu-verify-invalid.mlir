// RUN: nn-opt --gpu-verify --split-input-file --verify-diagnostics %s

gpu.module @kernels {
  gpu.func @divergent(%x: memref<16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %t = gpu.thread_id x
    // expected-note@+1 {{the condition here depends on the thread}}
    loop.if (7 - %t >= 0) {
      loop.for %k = 0 to 4 {
        // expected-error@+1 {{gpu.barrier: not all threads of a block come here, but they must meet}}
        gpu.barrier
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @by_data(%x: memref<16xi64>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %t = gpu.thread_id x
    %v = loop.load %x[%t] : memref<16xi64>
    %i = arith.index_cast %v : i64 to index
    // expected-note@+1 {{the condition here depends on the thread}}
    loop.if (%i >= 0) {
      // expected-error@+1 {{gpu.barrier: not all threads of a block come here}}
      gpu.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @kernels attributes {gpu.limits = #gpu.limits<cuda, threads = 64, shared_bytes = 256, arguments = 3, subgroup = 32, grid = [8, 4, 4], block = [64, 32, 2]>} {
  gpu.func @half_a_subgroup(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = loop.load %x[%t] : memref<64xf32>
    // expected-note@+1 {{the condition here depends on the thread}}
    loop.if (15 - %t >= 0) {
      // expected-error@+1 {{gpu.subgroup_reduce: not all threads of a subgroup come here}}
      %s = gpu.subgroup_reduce add %v : (f32) -> f32
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @bounds(%x: memref<50xf32>, %y: memref<50xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
    %b = gpu.block_id x
    %t = gpu.thread_id x
    // expected-error@+1 {{loop.load: thread (2, 0, 0) of block (3, 0, 0) reaches [50] in a buffer of [50]}}
    %v = loop.load %x[16 * %b + %t] : memref<50xf32>
    loop.if (50 - 16 * %b - %t >= 0) {
      // expected-error@+1 {{loop.store: thread (2, 0, 0) of block (3, 0, 0) reaches [50] in a buffer of [50]}}
      loop.store %v, %y[16 * %b + %t] : memref<50xf32>
      // expected-error@+1 {{gpu.atomic: thread (0, 0, 0) of block (0, 0, 0) reaches [-1] in a buffer of [50]}}
      %old = gpu.atomic addf %v, %y[16 * %b + %t - 1] : memref<50xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @vectors(%x: memref<8x8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    // expected-error@+1 {{loop.load: thread (7, 0, 0) reaches [7, 5] in a buffer of [8, 8]}}
    %v = loop.load %x[%t, 5] : memref<8x8xf32>, vector<4xf32>
    gpu.return
  }
}

// -----

// Too much to count through, and always done: what it reaches is a sum.
gpu.module @kernels {
  gpu.func @large(%x: memref<1048576xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4096, 1, 1>} {
    %b = gpu.block_id x
    %t = gpu.thread_id x
    loop.for %k = 0 to 2 {
      // expected-error@+1 {{loop.load: a thread reaches [1048576] in a buffer of [1048576]}}
      %v = loop.load %x[256 * %b + %t + %k] : memref<1048576xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @copies(%x: memref<16xf32>) kernel attributes {known_block_size = array<i32: 4, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %tile = loop.alloc "tile" : memref<16xf32, "shared">
    // expected-error@+2 {{gpu.async_copy: thread (3, 0, 0) reaches [15] in a buffer of [16]}}
    // expected-error@+1 {{gpu.async_copy: thread (3, 0, 0) reaches [13] in a buffer of [16]}}
    gpu.async_copy 4 %x[5 * %t] to %tile[4 * %t + 1] : memref<16xf32> to memref<16xf32, "shared">
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{gpu.func: no barriers have been inserted yet}}
  gpu.func @lockstep(%x: memref<16xf32>) kernel attributes {gpu.lockstep} {
    // expected-error@+1 {{loop.alloc: a thread allocates global memory}}
    %a = loop.alloc "a" : memref<16xf32>
    // expected-error@+1 {{loop.copy: is for the host, not for a thread}}
    loop.copy %x to %a : memref<16xf32> to memref<16xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%x: memref<16xf32, "stack">) kernel {
    gpu.return
  }
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %x = loop.alloc "x" : memref<16xf32, "stack">
  // expected-error@+1 {{gpu.launch_func: argument #0 is in stack memory, which is the host's own; expected global memory}}
  gpu.launch_func @kernels::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32, "stack">)
  func.return
}

// -----

// The target's limits hold where the module has none.
builtin.module attributes {nn.target = "webgpu"} {
  gpu.module @kernels {
    // expected-error@+1 {{gpu.func: a block has 512 threads (256 x 2 x 1), expected at most 256 on wgsl}}
    gpu.func @f() kernel attributes {known_block_size = array<i32: 256, 2, 1>} {
      gpu.return
    }
  }
}
