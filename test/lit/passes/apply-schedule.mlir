// RUN: nn-opt --apply-schedule --split-input-file %s | filecheck %s

// CHECK-LABEL: @matmul
func.func @matmul(%x: memref<6x8xf32>, %w: memref<8x16xf32>, %y: memref<6x16xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %m = 0 to 6 {
    loop.for %n = 0 to 16 {
      loop.for %k = 0 to 8 {
        loop.block "matmul" (%i = %m : par 6, %j = %n : par 16, %l = %k : reduce 8) {
          %a = loop.load %x[%i, %l] : memref<6x8xf32>
          %b = loop.load %w[%l, %j] : memref<8x16xf32>
          %c = loop.load %y[%i, %j] : memref<6x16xf32>
          %d = math.fma %a, %b, %c : f32
          loop.store %d, %y[%i, %j] : memref<6x16xf32>
        } init {
          %z = arith.constant 0.0 : f32
          loop.store %z, %y[%i, %j] : memref<6x16xf32>
        }
      }
    }
  }
  func.return
}

// CHECK:      loop.for %mo = 0 to 2 parallel {
// CHECK-NEXT:   loop.for %no = 0 to 2 {
// CHECK-NEXT:     %[[ACC:.*]] = loop.alloc "matmul" : memref<6x16xf32, "register">
// CHECK-NEXT:     loop.for %mi = 0 to 4 {
// CHECK-NEXT:       loop.for %ni = 0 to 8 {
// CHECK-NEXT:         loop.block "matmul.init" (%{{.*}} = 4 * %mo + %mi : par 6, %{{.*}} = 8 * %no + %ni : par 16) where (-4 * %mo - %mi + 5 >= 0) {
// CHECK:          loop.for %k = 0 to 8 {
// CHECK-NEXT:       loop.for %{{.*}} = 0 to 4 unroll {
// CHECK-NEXT:         loop.for %{{.*}} = 0 to 8 vector {
// CHECK-NEXT:           loop.block "matmul"
// CHECK:          loop.block "matmul.copy"
// CHECK-NOT:    sched.script
sched.script for @matmul {
  sched.cache_write "matmul"
  %m, %n, %k = sched.axes 3 of "matmul"
  %mo, %no, %mi, %ni = sched.tile %m, %n by 4, 8
  sched.reorder %mo, %no, %k, %mi, %ni
  sched.reverse_compute_at "matmul.copy" at %no
  sched.decompose_init "matmul" at %k
  sched.set_scope "matmul" in "register"
  sched.unroll %mi
  sched.vectorize %ni
  sched.parallel %mo
}

// -----

// A function without a script stays as it is.
// CHECK-LABEL: @plain
// CHECK-NEXT: func.return
func.func @plain() attributes {kernel, num_outputs = 0 : i64} {
  func.return
}
