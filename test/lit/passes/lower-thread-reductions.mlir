// RUN: nn-opt --lower-thread-reductions --split-input-file %s | filecheck %s

// Each thread adds up a part, in registers. The parts are joined in shared memory: first what is
// more than a power of two, then by eights. All threads add up the rest, as the sum is their own.

// CHECK:      loop.for %i = 0 to 3 block_x {
// CHECK-NEXT:   %{{.*}} = loop.alloc "sum.parts" : memref<3x20xf32, "register">
// CHECK-NEXT:   %{{.*}} = loop.alloc "sum.tree" : memref<3x20xf32, "shared">
// CHECK-NEXT:   %s = loop.alloc "s" : memref<3xf32, "register">
// CHECK-NEXT:   loop.for %t = 0 to 20 thread_x {
// CHECK-NEXT:     loop.block "sum.start" (%{{.*}} = %i : par 3, %{{.*}} = %t : par 20) {
// CHECK:        loop.for %t{{.*}} = 0 to 20 thread_x {
// CHECK-NEXT:     loop.for %r = 0 to 5 {
// CHECK-NEXT:       loop.block "sum.parts"
// CHECK:        loop.for %t{{.*}} = 0 to 20 thread_x attributes {nn.join = "fill"} {
// CHECK-NEXT:     loop.block "sum.fill"
// CHECK:        loop.for %t{{.*}} = 0 to 4 thread_x attributes {nn.join = "join"} {
// CHECK-NEXT:     loop.block "sum.join"
// CHECK:            + 16]
// CHECK:        loop.for %t{{.*}} = 0 to 2 thread_x attributes {nn.join = "join"} {
// CHECK-NEXT:     loop.block "sum.join"
// CHECK:            + 14]
// CHECK:        loop.for %part = 0 to 2 unroll {
// CHECK-NEXT:     loop.block "sum" (%{{.*}} = %i : par 3, %{{.*}} = %part : reduce 2)
func.func @sum(%x: memref<3x100xf32>, %y: memref<3xf32>) attributes {kernel} {
  loop.for %i = 0 to 3 block_x {
    %s = loop.alloc "s" : memref<3xf32, "shared">
    loop.for %t = 0 to 20 thread_x {
      loop.for %r = 0 to 5 {
        loop.block "sum" (%a = %i : par 3, %b = 20 * %r + %t : reduce 100) {
          %0 = loop.load %x[%a, %b] : memref<3x100xf32>
          %1 = loop.load %s[%a] : memref<3xf32, "shared">
          %2 = arith.addf %1, %0 : f32
          loop.store %2, %s[%a] : memref<3xf32, "shared">
        } init {
          %3 = arith.constant 0.0 : f32
          loop.store %3, %s[%a] : memref<3xf32, "shared">
        }
      }
    }
    loop.block "out" (%a = %i : par 3) {
      %0 = loop.load %s[%a] : memref<3xf32, "shared">
      loop.store %0, %y[%a] : memref<3xf32>
    }
  }
  func.return
}

// -----

// A loop that no axis to be reduced is bound to stays. A sum that threads choose among stays shared.

// CHECK:      loop.alloc "s" : memref<2xf32, "shared">
// CHECK:        loop.block "max.fill"
// CHECK-NOT:  "max.join"
// CHECK:      loop.for %part = 0 to 8 unroll {
// CHECK:      loop.for %u = 0 to 2 thread_x {
// CHECK-NEXT:   loop.block "out" (
func.func @max(%x: memref<2x8xf32>, %y: memref<2xf32>) attributes {kernel} {
  %s = loop.alloc "s" : memref<2xf32, "shared">
  loop.for %i = 0 to 2 {
    loop.for %t = 0 to 8 thread_x {
      loop.block "max" (%a = %i : par 2, %b = %t : reduce 8) {
        %0 = loop.load %x[%a, %b] : memref<2x8xf32>
        %1 = loop.load %s[%a] : memref<2xf32, "shared">
        %2 = arith.maximumf %1, %0 : f32
        loop.store %2, %s[%a] : memref<2xf32, "shared">
      } init {
        %3 = arith.constant 0xff800000 : f32
        loop.store %3, %s[%a] : memref<2xf32, "shared">
      }
    }
  }
  loop.for %u = 0 to 2 thread_x {
    loop.block "out" (%a = %u : par 2) {
      %0 = loop.load %s[%a] : memref<2xf32, "shared">
      loop.store %0, %y[%a] : memref<2xf32>
    }
  }
  func.return
}

// -----

// Threads that share a loop over several axes run one axis instead of these, and the stage computes
// with what each of them was.

// CHECK:      loop.block "sum.parts" (%a = %i : par 3, %t_2 = %t_1 : par 4, %b_c = 4 * %r : reduce 30) where (-4 * %r - %t_1 + 29 >= 0) {
// CHECK-NEXT:   %{{.*}} = loop.load %x[%a, (%b_c + %t_2) floordiv 6] : memref<3x5xf32>
// CHECK-NEXT:   %[[C:.*]] = loop.apply (%b_c + %t_2) mod 6
// CHECK-NEXT:   %{{.*}} = arith.index_cast %[[C]] : index to i32
func.func @fused(%x: memref<3x5xf32>, %y: memref<3xf32>) attributes {kernel} {
  loop.for %i = 0 to 3 block_x {
    loop.for %t = 0 to 4 thread_x {
      loop.for %r = 0 to 8 {
        loop.block "sum" (%a = %i : par 3, %b = (4 * %r + %t) floordiv 6 : reduce 5, %c = (4 * %r + %t) mod 6 : reduce 6) where (-4 * %r - %t + 29 >= 0) {
          %0 = loop.load %x[%a, %b] : memref<3x5xf32>
          %1 = arith.index_cast %c : index to i32
          %2 = arith.sitofp %1 : i32 to f32
          %3 = loop.load %y[%a] : memref<3xf32>
          %4 = arith.mulf %0, %2 : f32
          %5 = arith.addf %3, %4 : f32
          loop.store %5, %y[%a] : memref<3xf32>
        } init {
          %6 = arith.constant 0.0 : f32
          loop.store %6, %y[%a] : memref<3xf32>
        }
      }
    }
  }
  func.return
}
