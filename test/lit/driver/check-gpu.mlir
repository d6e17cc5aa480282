// RUN: nn-opt --check --convert-loop-to-gpu --insert-barriers %s | filecheck %s
// RUN: nn-opt --check --lower-to-gpu %s | filecheck %s
// RUN: not nn-opt --check --cse %S/Inputs/missing-barrier.mlir 2>&1 | filecheck %s --check-prefix=RACE
// RUN: not nn-opt --check --cse %S/Inputs/divergent-barrier.mlir 2>&1 | filecheck %s --check-prefix=DIVERGENT
// RUN: not nn-opt --check --cse %S/Inputs/out-of-bounds.mlir 2>&1 | filecheck %s --check-prefix=BOUNDS

// The check goes on from loops to threads, first without barriers, each op for all threads.
// CHECK:     gpu.func @reverse
// CHECK-NOT: lockstep
// CHECK:     gpu.barrier
builtin.module attributes {nn.target = "opencl"} {
  func.func private @reverse(%x: memref<8xf32>, %y: memref<8xf32>) attributes {kernel} {
    loop.for %b = 0 to 1 block_x {
      %tile = loop.alloc "tile" : memref<8xf32, "shared">
      loop.for %t = 0 to 8 thread_x {
        %v = loop.load %x[%t] : memref<8xf32>
        loop.store %v, %tile[%t] : memref<8xf32, "shared">
      }
      loop.for %t = 0 to 8 thread_x {
        %v = loop.load %tile[7 - %t] : memref<8xf32, "shared">
        loop.store %v, %y[%t] : memref<8xf32>
      }
    }
    func.return
  }
  func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) attributes {num_outputs = 1 : i64} {
    func.call @reverse(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
    func.return
  }
}

// RACE:      missing-barrier.mlir:9:12: error: loop.load: data race: thread (0, 0, 0) reads element [7] of 'tile', which thread (7, 0, 0) writes with no barrier between
// RACE-NEXT:       %w = loop.load %tile[7 - %t] : memref<8xf32, "shared">
// RACE-NEXT:            ^
// RACE-NEXT:   hint: put a gpu.barrier between the two accesses, as --insert-barriers does
// RACE-NEXT: missing-barrier.mlir:7:7: note: the other access, which writes it

// DIVERGENT:      divergent-barrier.mlir:9:9: error: gpu.barrier: barrier divergence: 4 of 8 threads come here, thread (4, 0, 0) does not
// DIVERGENT:      divergent-barrier.mlir:8:7: note: the condition here does not hold for all threads
// DIVERGENT:      note: the others go on to the end of the kernel

// BOUNDS: out-of-bounds.mlir:8:12: error: loop.load: thread (0, 0, 0) reaches [8] in a buffer of [8]
