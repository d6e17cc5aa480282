// RUN: nn-opt --flatten-accesses %s | filecheck %s

// CHECK-LABEL: @fused_loop
func.func @fused_loop(%x: memref<2x7x7xf32>, %y: memref<2x7x7xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK-DAG: %[[X:.*]] = loop.view %x : memref<2x7x7xf32> to memref<98xf32>
  // CHECK-DAG: %[[Y:.*]] = loop.view %y : memref<2x7x7xf32> to memref<98xf32>
  loop.for %n = 0 to 2 {
    loop.for %i = 0 to 49 {
      // CHECK: loop.load %[[X]][49 * %n + %i] : memref<98xf32>
      // CHECK: loop.store %{{.*}}, %[[Y]][49 * %n + %i] : memref<98xf32>
      %a = loop.load %x[%n, %i floordiv 7, %i mod 7] : memref<2x7x7xf32>
      loop.store %a, %y[%n, %i floordiv 7, %i mod 7] : memref<2x7x7xf32>
    }
  }
  func.return
}

// CHECK-LABEL: @stays
func.func @stays(%x: memref<7x7xf32>, %y: memref<7x7xf32>) attributes {num_outputs = 1 : i64} {
  // CHECK-NOT: loop.view
  loop.for %i = 0 to 49 {
    // A transposed walk is no straight line.
    %a = loop.load %x[%i mod 7, %i floordiv 7] : memref<7x7xf32>
    // Outside the bounds the flat index would find other elements.
    %b = loop.load %x[%i floordiv 7, %i mod 7 - 1] or 0.0 : memref<7x7xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %y[%i mod 7, %i floordiv 7] : memref<7x7xf32>
  }
  func.return
}
