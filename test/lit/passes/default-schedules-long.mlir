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

// Rows that are transposed have lanes, too.
// CHECK: sched.script for @turn {
// CHECK:   sched.unroll
// CHECK:   sched.vectorize
func.func private @turn(%x: memref<32x64xf16>, %y: memref<64x32xf16>) attributes {kernel, num_outputs = 1 : i64} {
  loop.for %i = 0 to 64 {
    loop.for %j = 0 to 32 {
      loop.block "turn" (%k = %i : par 64, %l = %j : par 32) {
        %a = loop.load %x[%l, %k] : memref<32x64xf16>
        loop.store %a, %y[%k, %l] : memref<64x32xf16>
      }
    }
  }
  func.return
}

// What takes rows from places that data name stays a stage if it is read across: its lanes are rows.
// CHECK:     sched.script for @rows {
// CHECK-NOT: sched.inline
// CHECK:     sched.vectorize
func.func private @rows(%x: memref<9x32xf32>, %i: memref<64xi64>, %y: memref<32x64xf32>) attributes {kernel, num_outputs = 1 : i64} {
  %t = loop.alloc "taken" : memref<64x32xf32>
  loop.for %i0 = 0 to 64 {
    loop.for %j0 = 0 to 32 {
      loop.block "taken" (%k = %i0 : par 64, %l = %j0 : par 32) {
        %a = loop.load %i[%k] : memref<64xi64>
        %at = arith.index_cast %a : i64 to index
        %b = loop.load %x[%at, %l] : memref<9x32xf32>
        loop.store %b, %t[%k, %l] : memref<64x32xf32>
      }
    }
  }
  loop.for %i1 = 0 to 32 {
    loop.for %j1 = 0 to 64 {
      loop.block "turned" (%k = %i1 : par 32, %l = %j1 : par 64) {
        %a = loop.load %t[%l, %k] : memref<64x32xf32>
        loop.store %a, %y[%k, %l] : memref<32x64xf32>
      }
    }
  }
  func.return
}
