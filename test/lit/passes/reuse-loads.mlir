// RUN: nn-opt --reuse-loads %s | filecheck %s
// RUN: nn-opt --reuse-loads --statistics %s 2>&1 >/dev/null | filecheck %s --check-prefix=STATS

// STATS: 2 {{.*}}loads-reused

// CHECK-LABEL: func.func @straight
// CHECK-COUNT-2: loop.load %x
// CHECK-NOT:     loop.load %x
// CHECK:         arith.mulf %a, %a
func.func @straight(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 7 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
    %b = loop.load %x[%i] : memref<8xf32>
    %c = loop.load %x[%i + 1] : memref<8xf32>
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %c, %d : f32
    loop.store %e, %y[%i + 1] : memref<8xf32>
  }
  func.return
}

// What is stored to, or may be stored to in a loop or a call, is loaded again.
// CHECK-LABEL: func.func @stored
// CHECK-COUNT-4: loop.load %x[0]
func.func @stored(%x: memref<8xf32>, %y: memref<4xf32>) {
  %half = loop.view %x offset 0 : memref<8xf32> to memref<4xf32>
  %a = loop.load %x[0] : memref<8xf32>
  loop.store %a, %half[0] : memref<4xf32>
  %b = loop.load %x[0] : memref<8xf32>
  loop.for %i = 0 to 4 {
    loop.store %b, %x[%i] : memref<8xf32>
  }
  %c = loop.load %x[0] : memref<8xf32>
  loop.copy %y to %half : memref<4xf32> to memref<4xf32>
  %d = loop.load %x[0] : memref<8xf32>
  %e = arith.addf %c, %d : f32
  loop.store %e, %y[0] : memref<4xf32>
  func.return
}

// A register is a variable already.
// CHECK-LABEL: func.func @registers
// CHECK-COUNT-2: loop.load %t
func.func @registers(%y: memref<4xf32>) {
  %t = loop.alloc "t" : memref<1xf32, "register">
  %one = arith.constant 1.0 : f32
  loop.store %one, %t[0] : memref<1xf32, "register">
  %a = loop.load %t[0] : memref<1xf32, "register">
  %b = loop.load %t[0] : memref<1xf32, "register">
  loop.store %a, %y[0] : memref<4xf32>
  loop.store %b, %y[1] : memref<4xf32>
  func.return
}

// CHECK-LABEL: func.func @again
// CHECK:         %a = loop.load %x[0]
// CHECK-NEXT:    loop.store %a, %y[0]
// CHECK-NEXT:    loop.store %a, %y[1]
func.func @again(%x: memref<8xf32>, %y: memref<4xf32>) {
  %a = loop.load %x[0] : memref<8xf32>
  loop.store %a, %y[0] : memref<4xf32>
  %b = loop.load %x[0] : memref<8xf32>
  loop.store %b, %y[1] : memref<4xf32>
  func.return
}
