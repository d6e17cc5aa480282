// RUN: nn-opt --insert-barriers --split-input-file --verify-diagnostics %s

gpu.module @kernels {
  gpu.func @divergent(%x: memref<32xf32>, %y: memref<32xf32>) kernel attributes {known_block_size = array<i32: 8, 4, 1>} {
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %s = loop.alloc "s" : memref<4x8xf32, "shared">
    loop.if (5 - %tx >= 0) {
      %a = loop.load %x[8 * %ty + %tx] : memref<32xf32>
      // expected-note @+1 {{the other access is here}}
      loop.store %a, %s[%ty, %tx] : memref<4x8xf32, "shared">
      // expected-error @+1 {{thread (5, 0) reads 's'[0, 0] after thread (0, 0) writes it, and not all threads come here to wait for each other}}
      %b = loop.load %s[%ty, 5 - %tx] : memref<4x8xf32, "shared">
      loop.store %b, %y[8 * %ty + %tx] : memref<32xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @perhaps(%i: memref<8xi64>, %y: memref<8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %tx = gpu.thread_id x
    %s = loop.alloc "s" : memref<8xf32, "shared">
    loop.if (5 - %tx >= 0) {
      %a = loop.load %y[%tx] : memref<8xf32>
      // expected-note @+1 {{the other access is here}}
      loop.store %a, %s[%tx] : memref<8xf32, "shared">
      %n = loop.load %i[%tx] : memref<8xi64>
      %j = arith.index_cast %n : i64 to index
      // expected-error @+1 {{a thread reads 's' after another one writes it, perhaps, and not all threads come here}}
      %b = loop.load %s[%j] : memref<8xf32, "shared">
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @race(%x: memref<16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %tx = gpu.thread_id x
    %s = loop.alloc "s" : memref<8xf32, "shared">
    %a = loop.load %x[%tx] : memref<16xf32>
    // expected-error @+1 {{threads 0 and 1 write different values to 's'[0]}}
    loop.store %a, %s[%tx floordiv 2] : memref<8xf32, "shared">
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @blocks(%x: memref<16xf32>, %y: memref<8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
    %bx = gpu.block_id x
    %tx = gpu.thread_id x
    %a = loop.load %x[8 * %bx + %tx] : memref<16xf32>
    // expected-error @+1 {{blocks 0 and 1 write different values to %y[0]}}
    loop.store %a, %y[%tx] : memref<8xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @unordered(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
    %bx = gpu.block_id x
    %tx = gpu.thread_id x
    %a = loop.load %x[8 * %bx + %tx] : memref<16xf32>
    // expected-note @+1 {{the other access is here}}
    loop.store %a, %y[8 * %bx + %tx] : memref<16xf32>
    // expected-error @+1 {{block 0 reads %y[15], which block 1 writes, and nothing orders blocks}}
    %b = loop.load %y[15 - 8 * %bx - %tx] : memref<16xf32>
    loop.store %b, %z[8 * %bx + %tx] : memref<16xf32>
    gpu.return
  }
}

// -----

// What is loaded may differ from thread to thread.

gpu.module @kernels {
  gpu.func @data(%n: memref<1xi64>, %y: memref<8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %tx = gpu.thread_id x
    %s = loop.alloc "s" : memref<8xf32, "shared">
    %k = loop.load %n[0] : memref<1xi64>
    %j = arith.index_cast %k : i64 to index
    loop.if (%j - 1 >= 0) {
      %a = loop.load %y[%tx] : memref<8xf32>
      // expected-note @+1 {{the other access is here}}
      loop.store %a, %s[%tx] : memref<8xf32, "shared">
      // expected-error @+1 {{thread 7 reads 's'[0] after thread 0 writes it, and not all threads come here}}
      %b = loop.load %s[7 - %tx] : memref<8xf32, "shared">
      loop.store %b, %y[%tx] : memref<8xf32>
    }
    gpu.return
  }
}
