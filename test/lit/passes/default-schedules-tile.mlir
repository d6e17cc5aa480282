// The width of a register tile, in elements, where it is given: in whole vectors, with as many rows as fit.
// RUN: nn-opt --default-schedules=tile=32 %s | filecheck %s --check-prefix=TWO
// RUN: nn-opt --default-schedules=tile=40 %s | filecheck %s --check-prefix=TWO
// RUN: nn-opt --default-schedules=tile=1 %s | filecheck %s --check-prefix=ONE
// RUN: nn-opt --default-schedules=tile=1000 %s | filecheck %s --check-prefix=ALL
// RUN: nn-opt --default-schedules=tile=32 --apply-schedule --lower-blocks --check %s -o %t
// RUN: nn-opt --default-schedules=tile=1000 --apply-schedule --lower-blocks --check %s -o %t
// RUN: not nn-opt --default-schedules=tile=0 %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not nn-opt --default-schedules=tile=wide %s 2>&1 | filecheck %s --check-prefix=TEXT

// TWO: sched.split %m by 8
// TWO: sched.split %n by 16
// TWO: sched.split %no by 2
// ONE: sched.split %n by 16
// ONE-NOT: sched.split %no
// ALL: sched.split %m by 2
// ALL: sched.split %no by 8
// NONE: error: --default-schedules: tile is 0, expected 1 or more
// TEXT: error: --default-schedules: tile is 'wide', expected an integer
func.func @main(%x: memref<64x96xf32>, %w: memref<96x128xf32>, %z: memref<64x128xf32>) attributes {num_outputs = 1 : i64} {
  func.call @matmul(%x, %w, %z) : (memref<64x96xf32>, memref<96x128xf32>, memref<64x128xf32>) -> ()
  func.return
}
func.func private @matmul(%x: memref<64x96xf32>, %w: memref<96x128xf32>, %z: memref<64x128xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %m = 0 to 64 {
    loop.for %n = 0 to 128 {
      loop.for %k = 0 to 96 {
        loop.block "matmul" (%m_1 = %m : par 64, %n_1 = %n : par 128, %k_1 = %k : reduce 96) {
          %0 = loop.load %x[%m_1, %k_1] : memref<64x96xf32>
          %1 = loop.load %w[%k_1, %n_1] : memref<96x128xf32>
          %2 = loop.load %z[%m_1, %n_1] : memref<64x128xf32>
          %3 = math.fma %0, %1, %2 : f32
          loop.store %3, %z[%m_1, %n_1] : memref<64x128xf32>
        } init {
          %4 = arith.constant 0.000000e+00 : f32
          loop.store %4, %z[%m_1, %n_1] : memref<64x128xf32>
        }
      }
    }
  }
  func.return
}
