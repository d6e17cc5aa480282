// RUN: nn-opt --convert-loop-to-gpu --split-input-file %s | filecheck %s

// Blocks and threads become ids, the call a launch; both keep the names of nodes.

// CHECK:      builtin.module attributes {nn.target = "opencl", gpu.container_module} {
// CHECK-NEXT:   gpu.module @kernels attributes {gpu.limits = #gpu.limits<opencl, threads = 256,
// CHECK-NEXT:     gpu.func @neg(%x: memref<8x20xf32>, %y: memref<8x20xf32>) kernel attributes {known_block_size = array<i32: 20, 1, 1>, known_grid_size = array<i32: 8, 1, 1>, gpu.lockstep} {
// CHECK-NEXT:       %bx = gpu.block_id x
// CHECK-NEXT:       %tx = gpu.thread_id x
// CHECK-NEXT:       %0 = loop.load %x[%bx, %tx] : memref<8x20xf32>
// CHECK-NEXT:       %1 = arith.negf %0 : f32
// CHECK-NEXT:       loop.store %1, %y[%bx, %tx] : memref<8x20xf32>
// CHECK-NEXT:       gpu.return
// CHECK:        func.func @main(%x: memref<8x20xf32>, %y: memref<8x20xf32>) attributes {num_outputs = 1 : i64} {
// CHECK:          gpu.launch_func @kernels::@neg blocks in (%c8, %c1, %c1) threads in (%c20, %c1, %c1) args(%x : memref<8x20xf32>, %y : memref<8x20xf32>) {nn.nodes = ["Neg_3"]}
// CHECK-NOT:    @neg
builtin.module attributes {nn.target = "opencl"} {
  func.func private @neg(%x: memref<8x20xf32>, %y: memref<8x20xf32>) attributes {kernel} {
    loop.for %i = 0 to 8 block_x {
      loop.for %j = 0 to 20 thread_x {
        %0 = loop.load %x[%i, %j] : memref<8x20xf32>
        %1 = arith.negf %0 : f32
        loop.store %1, %y[%i, %j] : memref<8x20xf32>
      }
    }
    func.return
  }
  func.func @main(%x: memref<8x20xf32>, %y: memref<8x20xf32>) attributes {num_outputs = 1 : i64} {
    func.call @neg(%x, %y) {nn.nodes = ["Neg_3"]} : (memref<8x20xf32>, memref<8x20xf32>) -> ()
    func.return
  }
}

// -----

// A block has as many threads as its widest stage; the others get tests. One thread does what
// stands outside, every thread what only concerns its own buffers.

// CHECK:      gpu.func @stages({{.*}}) kernel attributes {known_block_size = array<i32: 16, 1, 1>, known_grid_size = array<i32: 4, 1, 1>, gpu.lockstep}
// CHECK-NEXT:   %bx = gpu.block_id x
// CHECK-NEXT:   %tx = gpu.thread_id x
// CHECK-NEXT:   %s = loop.alloc "s" : memref<16xf32, "shared">
// CHECK-NEXT:   %r = loop.alloc "r" : memref<1xf32, "register">
// CHECK-NEXT:   [[a:%.*]] = loop.load %x[%bx, %tx]
// CHECK-NEXT:   loop.store [[a]], %s[%tx]
// CHECK-NEXT:   loop.if (-1 * %tx + 9 >= 0) {
// CHECK-NEXT:     [[b:%.*]] = loop.load %s[-1 * %tx + 15]
// CHECK-NEXT:     loop.store [[b]], %s[%tx]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[c:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   loop.store [[c]], %r[0] : memref<1xf32, "register">
// CHECK-NEXT:   loop.if (-1 * %tx >= 0) {
// CHECK-NEXT:     [[d:%.*]] = loop.load %s[0]
// CHECK-NEXT:     loop.store [[d]], %y[%bx]
// CHECK-NEXT:   }
// CHECK-NEXT:   gpu.return
builtin.module attributes {nn.target = "opencl"} {
  func.func @stages(%x: memref<4x16xf32>, %y: memref<4xf32>) {
    loop.for %i = 0 to 4 block_x {
      %s = loop.alloc "s" : memref<16xf32, "shared">
      %r = loop.alloc "r" : memref<1xf32, "register">
      loop.for %j = 0 to 16 thread_x {
        %a = loop.load %x[%i, %j] : memref<4x16xf32>
        loop.store %a, %s[%j] : memref<16xf32, "shared">
      }
      loop.for %k = 0 to 10 thread_x {
        %b = loop.load %s[15 - %k] : memref<16xf32, "shared">
        loop.store %b, %s[%k] : memref<16xf32, "shared">
      }
      %c = arith.constant 0.0 : f32
      loop.store %c, %r[0] : memref<1xf32, "register">
      %d = loop.load %s[0] : memref<16xf32, "shared">
      loop.store %d, %y[%i] : memref<4xf32>
    }
    func.return
  }
}

// -----

// A thread loop inside one of its own dimension is the thread itself; a statement inside one of
// two dimensions runs in the first thread of the other.

// CHECK:      gpu.func @fetch({{.*}}) kernel attributes {known_block_size = array<i32: 4, 8, 1>, known_grid_size = array<i32: 1, 2, 1>, gpu.lockstep}
// CHECK-NEXT:   %by = gpu.block_id y
// CHECK:        %tx = gpu.thread_id x
// CHECK:        %s = loop.alloc "s" : memref<32xf32, "shared">
// CHECK:        loop.for %k = 0 to 3 {
// CHECK-NEXT:     [[a:%.*]] = loop.load %x[%by, %k, 4 * %ty + %tx]
// CHECK-NEXT:     loop.store [[a]], %s[4 * %ty + %tx]
// CHECK-NEXT:     loop.if (-1 * %tx >= 0) {
// CHECK-NEXT:       [[b:%.*]] = loop.load %s[4 * %ty + 3]
// CHECK-NEXT:       loop.store [[b]], %y[%by, %ty]
// CHECK-NEXT:     }
builtin.module attributes {nn.target = "opencl"} {
  func.func @fetch(%x: memref<2x3x32xf32>, %y: memref<2x8xf32>) {
    loop.for %i = 0 to 2 block_y {
      %s = loop.alloc "s" : memref<32xf32, "shared">
      loop.for %t = 0 to 8 thread_y {
        loop.for %k = 0 to 3 {
          loop.for %u = 0 to 8 thread_y {
            loop.for %v = 0 to 4 thread_x {
              %a = loop.load %x[%i, %k, 4 * %u + %v] : memref<2x3x32xf32>
              loop.store %a, %s[4 * %u + %v] : memref<32xf32, "shared">
            }
          }
          %b = loop.load %s[4 * %t + 3] : memref<32xf32, "shared">
          loop.store %b, %y[%i, %t] : memref<2x8xf32>
        }
      }
    }
    func.return
  }
}

// -----

// Each nest of a kernel is a launch; temporaries, copies and loops of time are the host's; small
// tables stay in the kernel, larger ones are passed.

// CHECK:      gpu.func @two(%x: memref<4xf32>, %t: memref<4xf32>) kernel
// CHECK-NEXT:   %tx = gpu.thread_id x
// CHECK-NEXT:   %small = loop.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK:        gpu.func @two_1(%t: memref<4xf32>, %large: memref<65xf32>, %v: memref<4xf32>) kernel
// CHECK:        func.func @main
// CHECK-NEXT:     %large = loop.constant dense<3.000000e+00> : tensor<65xf32> to memref<65xf32>
// CHECK:        %t = loop.alloc "two.t" : memref<4xf32>
// CHECK-NEXT:   gpu.launch_func @kernels::@two blocks
// CHECK-SAME:     args(%x : memref<4xf32>, %t : memref<4xf32>)
// CHECK-NEXT:   loop.for %s = 0 to 3 {
// CHECK-NEXT:     %v = loop.view %y offset 4 * %s : memref<3x4xf32> to memref<4xf32>
// CHECK-NEXT:     gpu.launch_func @kernels::@two_1 blocks
// CHECK-SAME:       args(%t : memref<4xf32>, %large : memref<65xf32>, %v : memref<4xf32>)
// CHECK-NEXT:     loop.copy %v to %t
// CHECK-NEXT:   }
builtin.module attributes {nn.target = "opencl"} {
  func.func private @two(%x: memref<4xf32>, %y: memref<3x4xf32>) attributes {kernel} {
    %t = loop.alloc "t" : memref<4xf32>
    %small = loop.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> to memref<4xf32>
    %large = loop.constant dense<3.0> : tensor<65xf32> to memref<65xf32>
    loop.for %i = 0 to 4 thread_x {
      %a = loop.load %x[%i] : memref<4xf32>
      %b = loop.load %small[%i] : memref<4xf32>
      %c = arith.addf %a, %b : f32
      loop.store %c, %t[%i] : memref<4xf32>
    }
    loop.for %s = 0 to 3 {
      %v = loop.view %y offset 4 * %s : memref<3x4xf32> to memref<4xf32>
      loop.for %i = 0 to 1 block_x {
        loop.for %j = 0 to 4 thread_x {
          %a = loop.load %t[%j] : memref<4xf32>
          %b = loop.load %large[%j + 60] : memref<65xf32>
          %c = arith.addf %a, %b : f32
          loop.store %c, %v[%j] : memref<4xf32>
        }
      }
      loop.copy %v to %t : memref<4xf32> to memref<4xf32>
    }
    func.return
  }
  func.func @main(%x: memref<4xf32>, %y: memref<3x4xf32>) attributes {num_outputs = 1 : i64} {
    func.call @two(%x, %y) : (memref<4xf32>, memref<3x4xf32>) -> ()
    func.return
  }
}

// -----

// Statements in no loop are a kernel of one thread.

// CHECK:      gpu.func @scalar(%x: memref<f32>, %y: memref<f32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>, gpu.lockstep} {
// CHECK-NEXT:   [[a:%.*]] = loop.load %x[] : memref<f32>
// CHECK-NEXT:   [[b:%.*]] = arith.negf [[a]] : f32
// CHECK-NEXT:   loop.store [[b]], %y[] : memref<f32>
builtin.module attributes {nn.target = "opencl"} {
  func.func @scalar(%x: memref<f32>, %y: memref<f32>) {
    %a = loop.load %x[] : memref<f32>
    %b = arith.negf %a : f32
    loop.store %b, %y[] : memref<f32>
    func.return
  }
}

// -----

// A thread keeps its own elements of a buffer that stands outside of the thread loops: each fourth
// pair of sixteen, then all of them in order.

// CHECK:      gpu.func @own
// CHECK:        %r = loop.alloc "r" : memref<4xf32, "register">
// CHECK-NEXT:   loop.for %k = 0 to 2 {
// CHECK-NEXT:     loop.for %l = 0 to 2 {
// CHECK-NEXT:       [[a:%.*]] = loop.load %x[%bx, 8 * %k + 2 * %tx + %l]
// CHECK-NEXT:       loop.store [[a]], %r[2 * %k + %l]
// CHECK:        [[v:%.*]] = loop.load %r[2] : memref<4xf32, "register">, vector<2xf32>
builtin.module attributes {nn.target = "opencl"} {
  func.func @own(%x: memref<2x16xf32>, %y: memref<2x8xf32>) {
    loop.for %i = 0 to 2 block_x {
      %r = loop.alloc "r" : memref<16xf32, "register">
      loop.for %t = 0 to 4 thread_x {
        loop.for %k = 0 to 2 {
          loop.for %l = 0 to 2 {
            %a = loop.load %x[%i, 8 * %k + 2 * %t + %l] : memref<2x16xf32>
            loop.store %a, %r[8 * %k + 2 * %t + %l] : memref<16xf32, "register">
          }
        }
      }
      loop.for %t = 0 to 4 thread_x {
        %v = loop.load %r[2 * %t + 8] : memref<16xf32, "register">, vector<2xf32>
        loop.store %v, %y[%i, 2 * %t] : memref<2x8xf32>, vector<2xf32>
      }
    }
    func.return
  }
}

// -----

// Buffers in global memory inside of a nest: of a thread, or with a place for each block.

// CHECK:      gpu.func @inside(%x: memref<2x4xf32>, %y: memref<2x4xf32>, %b: memref<2x4xf32>) kernel
// CHECK:        loop.store %{{.*}}, %b[%bx, %tx] : memref<2x4xf32>
// CHECK:        %c = loop.alloc "c" : memref<1xf32, "stack">
builtin.module attributes {nn.target = "opencl"} {
  func.func @inside(%x: memref<2x4xf32>, %y: memref<2x4xf32>) {
    loop.for %i = 0 to 2 block_x {
      %b = loop.alloc "b" : memref<4xf32>
      loop.for %t = 0 to 4 thread_x {
        %a = loop.load %x[%i, %t] : memref<2x4xf32>
        loop.store %a, %b[%t] : memref<4xf32>
      }
      loop.for %t = 0 to 4 thread_x {
        %c = loop.alloc "c" : memref<1xf32>
        %d = loop.load %b[3 - %t] : memref<4xf32>
        loop.store %d, %c[0] : memref<1xf32>
        %e = loop.load %c[0] : memref<1xf32>
        loop.store %e, %y[%i, %t] : memref<2x4xf32>
      }
    }
    func.return
  }
}

// -----

// A loop of copies alone stays on the host: a recurrence whose steps only move its states.

// CHECK:      func.func @moves
// CHECK:        loop.for %t = 0 to 3 {
// CHECK-NEXT:     loop.copy %x to %y
// CHECK-NEXT:     %v = loop.view %z offset 4 * %t : memref<3x4xf32> to memref<4xf32>
// CHECK-NEXT:     loop.copy %y to %v
// CHECK-NEXT:   }
// CHECK-NOT:    gpu.launch_func
builtin.module attributes {nn.target = "opencl"} {
  func.func @moves(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<3x4xf32>) {
    loop.for %t = 0 to 3 {
      loop.copy %x to %y : memref<4xf32> to memref<4xf32>
      %v = loop.view %z offset 4 * %t : memref<3x4xf32> to memref<4xf32>
      loop.copy %y to %v : memref<4xf32> to memref<4xf32>
    }
    func.return
  }
}
