// RUN: nn-opt --apply-schedule %s | filecheck %s
// RUN: nn-opt %s | nn-opt | filecheck %s --check-prefix=SCRIPT

func.func @neg(%x: memref<64x40xf32>, %y: memref<64x40xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %i = 0 to 64 {
    loop.for %j = 0 to 40 {
      loop.block "neg" (%a = %i : par 64, %b = %j : par 40) {
        %0 = loop.load %x[%a, %b] : memref<64x40xf32>
        %1 = arith.negf %0 : f32
        loop.store %1, %y[%a, %b] : memref<64x40xf32>
      }
    }
  }
  func.return
}

// CHECK:      loop.for %io = 0 to 8 block_y {
// CHECK-NEXT:   loop.for %jo = 0 to 2 block_x {
// CHECK-NEXT:     loop.for %ii = 0 to 8 thread_y {
// CHECK-NEXT:       loop.for %ji = 0 to 32 thread_x {
// SCRIPT: sched.bind %io to "block_y"
sched.script for @neg {
  %i, %j = sched.axes 2 of "neg"
  %io, %jo, %ii, %ji = sched.tile %i, %j by 8, 32
  sched.bind %io to "block_y"
  sched.bind %jo to "block_x"
  sched.bind %ii to "thread_y"
  sched.bind %ji to "thread_x"
}
