// RUN: nn-opt --default-schedules --target=x86-64-v3 %s | filecheck %s
// RUN: nn-opt --default-schedules=apply-now --target=x86-64-v3 %s | filecheck %s --check-prefix=NOW
// RUN: nn-opt --default-schedules --apply-schedule --target=x86-64-v3 %s -o %t.two
// RUN: nn-opt --default-schedules=apply-now --apply-schedule --target=x86-64-v3 %s -o %t.one
// RUN: diff %t.one %t.two

func.func private @matmul(%x: memref<6x8xf32>, %w: memref<8x16xf32>, %y: memref<6x16xf32>) attributes {kernel, num_outputs = 1 : i64} {
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

// Two vectors of eight lanes and six rows: twelve of sixteen registers.
// CHECK:      sched.script for @matmul {
// CHECK-NEXT:   sched.cache_write "matmul"
// CHECK-NEXT:   %m, %n, %k = sched.axes 3 of "matmul"
// CHECK-NEXT:   %mo, %mi = sched.split %m by 6
// CHECK-NEXT:   %no, %ni = sched.split %n by 8
// CHECK-NEXT:   %noo, %noi = sched.split %no by 2
// CHECK:        sched.reverse_compute_at "matmul.copy"
// CHECK:        sched.decompose_init "matmul"
// CHECK:        sched.vectorize
// CHECK:        sched.set_scope "matmul" in "register"

// Only kernels are scheduled, and a script that is there is kept.
func.func @other(%x: memref<6xf32>, %y: memref<6xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %m = 0 to 6 {
    loop.block "copy" (%i = %m : par 6) {
      %a = loop.load %x[%i] : memref<6xf32>
      loop.store %a, %y[%i] : memref<6xf32>
    }
  }
  func.return
}
func.func private @mine(%x: memref<6xf32>, %y: memref<6xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %m = 0 to 6 {
    loop.block "copy" (%i = %m : par 6) {
      %a = loop.load %x[%i] : memref<6xf32>
      loop.store %a, %y[%i] : memref<6xf32>
    }
  }
  func.return
}
sched.script for @mine {
  %m = sched.axes 1 of "copy"
  sched.unroll %m
}
// CHECK-NOT:  sched.script for @other
// CHECK:      sched.script for @mine {
// CHECK-NEXT:   %{{.*}} = sched.axes 1 of "copy"
// CHECK-NEXT:   sched.unroll
// CHECK-NOT:  sched.script

// NOW-NOT:  sched.script for @matmul
// NOW:      loop.block "matmul.copy"
