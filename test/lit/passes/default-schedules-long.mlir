// Of numbers of 64 bits, half as many go side by side; a function of them has no vectors. What indices
// name is gathered. Half floats, which are computed as f32, fill as many lanes as those.
// RUN: nn-opt --default-schedules --target=x86-64-v4 %s | filecheck %s

// CHECK: sched.script for @matmul {
// CHECK:   %no, %ni = sched.split %n by 8
// CHECK:   sched.set_scope "matmul" in "register"
func.func private @matmul(%x: memref<6x8xf64>, %w: memref<8x16xf64>, %y: memref<6x16xf64>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %m = 0 to 6 {
    loop.for %n = 0 to 16 {
      loop.for %k = 0 to 8 {
        loop.block "matmul" (%i = %m : par 6, %j = %n : par 16, %l = %k : reduce 8) {
          %a = loop.load %x[%i, %l] : memref<6x8xf64>
          %b = loop.load %w[%l, %j] : memref<8x16xf64>
          %c = loop.load %y[%i, %j] : memref<6x16xf64>
          %d = math.fma %a, %b, %c : f64
          loop.store %d, %y[%i, %j] : memref<6x16xf64>
        } init {
          %z = arith.constant 0.0 : f64
          loop.store %z, %y[%i, %j] : memref<6x16xf64>
        }
      }
    }
  }
  func.return
}

// CHECK: sched.script for @add {
// CHECK:   %{{.*}}, %[[LANE:.*]] = sched.split %{{.*}} by 8
// CHECK:   sched.vectorize %[[LANE]]
func.func private @add(%x: memref<64xi64>, %y: memref<64xi64>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %i = 0 to 64 {
    loop.block "add" (%j = %i : par 64) {
      %a = loop.load %x[%j] : memref<64xi64>
      %b = arith.addi %a, %a : i64
      loop.store %b, %y[%j] : memref<64xi64>
    }
  }
  func.return
}

// CHECK:     sched.script for @exp {
// CHECK-NOT: sched.vectorize
func.func private @exp(%x: memref<64xf64>, %y: memref<64xf64>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %i = 0 to 64 {
    loop.block "exp" (%j = %i : par 64) {
      %a = loop.load %x[%j] : memref<64xf64>
      %b = math.exp %a : f64
      loop.store %b, %y[%j] : memref<64xf64>
    }
  }
  func.return
}

// Lanes are loaded from the places that data name.
// CHECK: sched.script for @gather {
// CHECK:   %{{.*}}, %[[LANE:.*]] = sched.split %{{.*}} by 8
// CHECK:   sched.vectorize %[[LANE]]
func.func private @gather(%x: memref<64xf32>, %i: memref<64xi64>, %y: memref<64xf32>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %k = 0 to 64 {
    loop.block "gather" (%j = %k : par 64) {
      %a = loop.load %i[%j] : memref<64xi64>
      %at = arith.index_cast %a : i64 to index
      %b = loop.load %x[%at] : memref<64xf32>
      loop.store %b, %y[%j] : memref<64xf32>
    }
  }
  func.return
}

// CHECK: sched.script for @half {
// CHECK:   %{{.*}}, %[[LANE:.*]] = sched.split %{{.*}} by 16
// CHECK:   sched.vectorize %[[LANE]]
func.func private @half(%x: memref<64xf16>, %y: memref<64xf16>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %i = 0 to 64 {
    loop.block "half" (%j = %i : par 64) {
      %a = loop.load %x[%j] : memref<64xf16>
      %b = arith.extf %a : f16 to f32
      %c = arith.addf %b, %b : f32
      %d = arith.truncf %c : f32 to f16
      loop.store %d, %y[%j] : memref<64xf16>
    }
  }
  func.return
}
