// RUN: nn-opt --lower-thread-reductions %s | filecheck %s
// RUN: nn-opt --lower-thread-reductions --lower-blocks --compact-buffers --convert-loop-to-gpu %s | filecheck %s --check-prefix=GPU

// For subgroups the tree ends in one part ...

// CHECK:      loop.for %{{.*}} = 0 to 64 thread_x attributes {nn.join = "fill"}
// CHECK:      loop.for %{{.*}} = 0 to 8 thread_x attributes {nn.join = "join"}
// CHECK:      loop.for %{{.*}} = 0 to 1 thread_x attributes {nn.join = "join"}
// CHECK:      loop.for %part = 0 to 1 unroll {

// ... which is what is left of it: one part of each of two subgroups.

// GPU:      %{{.*}} = loop.alloc "max.tree" : memref<1x2xi32, "shared">
// GPU:      [[b:%.*]] = gpu.subgroup_reduce maxsi %{{.*}} cluster(size = 32) : (i32) -> i32
// GPU-NEXT: loop.if (-1 * (%tx mod 32) >= 0) {
// GPU-NEXT:   loop.store [[b]], %{{.*}}[0, %tx floordiv 32] : memref<1x2xi32, "shared">
// GPU-NEXT: }
// GPU-NEXT: [[c:%.*]] = loop.load %{{.*}}[0, %tx mod 2] : memref<1x2xi32, "shared">
// GPU-NEXT: [[d:%.*]] = gpu.subgroup_reduce maxsi [[c]] cluster(size = 2) : (i32) -> i32
// GPU-NEXT: loop.store [[d]], %{{.*}}[0] : memref<1xi32, "register">
builtin.module attributes {nn.target = "cuda"} {
  func.func @max(%x: memref<3x128xi32>, %y: memref<3xi32>) attributes {kernel} {
    loop.for %i = 0 to 3 block_x {
      loop.for %t = 0 to 64 thread_x {
        loop.for %r = 0 to 2 {
          loop.block "max" (%a = %i : par 3, %b = 64 * %r + %t : reduce 128) {
            %0 = loop.load %x[%a, %b] : memref<3x128xi32>
            %1 = loop.load %y[%a] : memref<3xi32>
            %2 = arith.maxsi %1, %0 : i32
            loop.store %2, %y[%a] : memref<3xi32>
          } init {
            %3 = arith.constant -2147483648 : i32
            loop.store %3, %y[%a] : memref<3xi32>
          }
        }
      }
    }
    func.return
  }
}
