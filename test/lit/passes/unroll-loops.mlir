// Marked loops of up to `most` iterations become straight code, inner ones first; others stay.
// RUN: nn-opt --unroll-loops %s | filecheck %s
// RUN: nn-opt --unroll-loops=most=2 %s | filecheck %s --check-prefix=TWO
// RUN: nn-opt --unroll-loops=most-ops=8 %s | filecheck %s --check-prefix=OPS
// RUN: nn-opt --unroll-loops --check %s -o %t
// RUN: nn-opt --unroll-loops --statistics %s -o %t 2>&1 | filecheck %s --check-prefix=COUNT

// COUNT: (S) {{[0-9]+}} loops-unrolled
func.func @main(%x: memref<4x3x2xf32>, %y: memref<4x3x2xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 3 unroll {
      loop.for %k = 0 to 2 vector {
        %a = loop.load %x[%i, %j, %k] : memref<4x3x2xf32>
        loop.store %a, %y[%i, %j, %k] : memref<4x3x2xf32>
      }
      loop.if (%j - 1 >= 0) {
        %n = loop.apply %j + %i
        %m = arith.index_cast %n : index to i32
        %f = arith.sitofp %m : i32 to f32
        loop.store %f, %y[%i, %j, 0] : memref<4x3x2xf32>
      }
    }
  }
  loop.for %l = 0 to 2 unroll {
    loop.for %m = 0 to 17 unroll {
      %c = arith.constant 5.0 : f32
      loop.store %c, %y[0, 0, %l] : memref<4x3x2xf32>
    }
  }
  func.return
}
// CHECK:      loop.for %i = 0 to 4 {
// CHECK-NEXT:   %a = loop.load %x[%i, 0, 0]
// CHECK-NEXT:   loop.store %a, %y[%i, 0, 0]
// CHECK-NEXT:   %a_1 = loop.load %x[%i, 0, 1]
// CHECK-NEXT:   loop.store %a_1, %y[%i, 0, 1]
// CHECK-NEXT:   loop.load %x[%i, 1, 0]
// CHECK-NOT:    loop.if
// CHECK:        loop.apply %i + 1
// CHECK:        loop.store %{{.*}}, %y[%i, 1, 0]
// CHECK:        loop.apply %i + 2
// CHECK:      loop.for %{{.*}} = 0 to 17 unroll {
// CHECK:        loop.store %{{.*}}, %y[0, 0, 0]
// CHECK:      loop.for %{{.*}} = 0 to 17 unroll {
// CHECK:        loop.store %{{.*}}, %y[0, 0, 1]
// TWO:        loop.for %i = 0 to 4 {
// TWO-NEXT:     loop.for %j = 0 to 3 unroll {
// TWO-NEXT:       loop.load %x[%i, %j, 0]
// OPS:        loop.for %i = 0 to 4 {
// OPS-NEXT:     loop.for %j = 0 to 3 unroll {
// OPS-NEXT:       loop.load %x[%i, %j, 0]
