// RUN: nn-opt --insert-barriers --split-input-file %s | filecheck %s

// What another thread wrote is read after a barrier; the loop's next iteration overwrites it after
// another one. What a thread wrote itself needs none.

// CHECK-LABEL: gpu.func @tile
// CHECK-SAME:    known_block_size = array<i32: 16, 1, 1>} {
// CHECK:         loop.for %k = 0 to 4 {
// CHECK-NEXT:      [[a:%.*]] = loop.load %x[16 * %k + %tx]
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      loop.store [[a]], %s[%tx]
// CHECK-NEXT:      %{{.*}} = loop.load %s[%tx]
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      [[c:%.*]] = loop.load %s[-1 * %tx + 15]
// CHECK-NEXT:      loop.store [[c]], %y[%tx]
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.return
gpu.module @kernels {
  gpu.func @tile(%x: memref<64xf32>, %y: memref<16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>, gpu.lockstep} {
    %tx = gpu.thread_id x
    %s = loop.alloc "s" : memref<16xf32, "shared">
    loop.for %k = 0 to 4 {
      %a = loop.load %x[16 * %k + %tx] : memref<64xf32>
      loop.store %a, %s[%tx] : memref<16xf32, "shared">
      %b = loop.load %s[%tx] : memref<16xf32, "shared">
      %c = loop.load %s[15 - %tx] : memref<16xf32, "shared">
      loop.store %c, %y[%tx] : memref<16xf32>
    }
    gpu.return
  }
}

// -----

// Two buffers by turns: one barrier an iteration is enough.

// CHECK-LABEL: gpu.func @by_turns
// CHECK:         loop.for %k = 0 to 4 {
// CHECK-NEXT:      %{{.*}} = loop.load %x
// CHECK-NEXT:      loop.store {{.*}}, %s[%k mod 2, %tx]
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %{{.*}} = loop.load %s[%k mod 2, -1 * %tx + 15]
// CHECK-NEXT:      loop.store
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.return
gpu.module @kernels {
  gpu.func @by_turns(%x: memref<64xf32>, %y: memref<16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %tx = gpu.thread_id x
    %s = loop.alloc "s" : memref<2x16xf32, "shared">
    loop.for %k = 0 to 4 {
      %a = loop.load %x[16 * %k + %tx] : memref<64xf32>
      loop.store %a, %s[%k mod 2, %tx] : memref<2x16xf32, "shared">
      %c = loop.load %s[%k mod 2, 15 - %tx] : memref<2x16xf32, "shared">
      loop.store %c, %y[%tx] : memref<16xf32>
    }
    gpu.return
  }
}

// -----

// Nothing moves between threads: no barrier, in whatever shape the accesses are.

// CHECK-LABEL: gpu.func @own
// CHECK-NOT:     gpu.barrier
gpu.module @kernels {
  gpu.func @own(%x: memref<8x64xf32>, %y: memref<8x64xf32>) kernel attributes {known_block_size = array<i32: 8, 4, 1>, known_grid_size = array<i32: 8, 1, 1>} {
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %bx = gpu.block_id x
    %s = loop.alloc "s" : memref<64xf32, "shared">
    loop.for %k = 0 to 2 {
      %a = loop.load %x[%bx, 16 * %ty + 2 * %tx + %k] : memref<8x64xf32>
      loop.store %a, %s[16 * %ty + 2 * %tx + %k] : memref<64xf32, "shared">
      loop.store %a, %y[%bx, 16 * %ty + 2 * %tx + %k] : memref<8x64xf32>
    }
    %v = loop.load %s[16 * %ty + 2 * %tx] : memref<64xf32, "shared">, vector<2xf32>
    %w = loop.load %y[%bx, 16 * %ty + 2 * %tx] : memref<8x64xf32>, vector<2xf32>
    %z = arith.addf %v, %w : vector<2xf32>
    loop.store %z, %y[%bx, 16 * %ty + 2 * %tx] : memref<8x64xf32>, vector<2xf32>
    gpu.return
  }
}

// -----

// The access is in a branch that not all threads take: they wait before it. A barrier that is
// there already counts.

// CHECK-LABEL: gpu.func @branch
// CHECK:         loop.store %{{.*}}, %s[%tx]
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    loop.if (-1 * %tx + 3 >= 0) {
// CHECK-NEXT:      %{{.*}} = loop.load
// CHECK-NEXT:      loop.store
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    %{{.*}} = loop.load %s[0]
// CHECK-NEXT:    loop.store
gpu.module @kernels {
  gpu.func @branch(%x: memref<16xf32>, %y: memref<16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %tx = gpu.thread_id x
    %s = loop.alloc "s" : memref<16xf32, "shared">
    %a = loop.load %x[%tx] : memref<16xf32>
    loop.store %a, %s[%tx] : memref<16xf32, "shared">
    loop.if (3 - %tx >= 0) {
      %b = loop.load %s[%tx + 4] : memref<16xf32, "shared">
      loop.store %b, %s[%tx] : memref<16xf32, "shared">
    }
    gpu.barrier
    %c = loop.load %s[0] : memref<16xf32, "shared">
    loop.store %c, %y[%tx] : memref<16xf32>
    gpu.return
  }
}

// -----

// All threads agree on a test of blocks and loops: they can wait inside. In the loop after it,
// what the branch wrote last is read.

// CHECK-LABEL: gpu.func @uniform
// CHECK:         loop.if (%bx - 1 >= 0) {
// CHECK-NEXT:      %{{.*}} = loop.load
// CHECK-NEXT:      loop.store
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %{{.*}} = loop.load %s[-1 * %tx + 15]
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      loop.store
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    loop.for %k = 0 to 2 {
// CHECK-NEXT:      %{{.*}} = loop.load %s[%k]
// CHECK-NEXT:      loop.store
gpu.module @kernels {
  gpu.func @uniform(%x: memref<16xf32>, %y: memref<2x16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
    %bx = gpu.block_id x
    %tx = gpu.thread_id x
    %s = loop.alloc "s" : memref<16xf32, "shared">
    loop.if (%bx - 1 >= 0) {
      %a = loop.load %x[%tx] : memref<16xf32>
      loop.store %a, %s[%tx] : memref<16xf32, "shared">
      %b = loop.load %s[15 - %tx] : memref<16xf32, "shared">
      loop.store %b, %s[%tx] : memref<16xf32, "shared">
    }
    loop.for %k = 0 to 2 {
      %c = loop.load %s[%k] : memref<16xf32, "shared">
      loop.store %c, %y[%bx, %tx] : memref<2x16xf32>
    }
    gpu.return
  }
}

// -----

// What the run decides may be any element. Global memory is as good as shared within a block.

// CHECK-LABEL: gpu.func @data
// CHECK:         loop.store %{{.*}}, %y[%tx]
// CHECK:         gpu.barrier
// CHECK-NEXT:    %{{.*}} = loop.load %y[%j]
gpu.module @kernels {
  gpu.func @data(%x: memref<16xf32>, %i: memref<16xi64>, %y: memref<16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %tx = gpu.thread_id x
    %a = loop.load %x[%tx] : memref<16xf32>
    loop.store %a, %y[%tx] : memref<16xf32>
    %n = loop.load %i[%tx] : memref<16xi64>
    %j = arith.index_cast %n : i64 to index
    %b = loop.load %y[%j] : memref<16xf32>
    gpu.return
  }
}

// -----

// Threads that write the same value to one element are no race; atomics of one are none either.

// CHECK-LABEL: gpu.func @same_value
// CHECK-NOT:     gpu.barrier
gpu.module @kernels {
  gpu.func @same_value(%x: memref<32xf32>, %y: memref<32xf32>, %z: memref<1xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
    %tx = gpu.thread_id x
    loop.for %k = 0 to 4 {
      %a = loop.load %x[%tx + %k] : memref<32xf32>
      %b = arith.negf %a : f32
      loop.store %b, %y[%tx + %k] : memref<32xf32>
    }
    %c = loop.load %x[%tx] : memref<32xf32>
    %old = gpu.atomic addf %c, %z[0] : memref<1xf32>
    %new = gpu.atomic addf %c, %z[0] : memref<1xf32>
    gpu.return
  }
}

// -----

// However many blocks there are: what one adds to a place by quotients and remainders of its number,
// it adds for all of its threads.

// CHECK-LABEL: gpu.func @quotients
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
gpu.module @kernels {
  gpu.func @quotients(%x: memref<4x8x32xf32>, %y: memref<5000x5000xf32>) kernel attributes {known_block_size = array<i32: 32, 8, 1>, known_grid_size = array<i32: 24649, 1, 1>} {
    %b = gpu.block_id x
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    loop.for %k = 0 to 4 {
      %c = loop.load %x[%k, %ty, %tx] : memref<4x8x32xf32>
      loop.if (4999 - 32 * (%b floordiv 157) - 8 * %k - %ty >= 0, 4999 - 32 * (%b mod 157) - %tx >= 0) {
        loop.store %c, %y[32 * (%b floordiv 157) + 8 * %k + %ty, 32 * (%b mod 157) + %tx] : memref<5000x5000xf32>
      }
    }
    gpu.return
  }
}
