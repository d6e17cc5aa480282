// RUN: nn-opt --split-input-file --lower-blocks %s | filecheck %s

// Axes go into the accesses, an init under a guard, a loop of one trip away.
// CHECK-LABEL: @sum
func.func @sum(%x: memref<1x8x6xf32>, %y: memref<1x8xf32>) {
  loop.for %n = 0 to 1 parallel {
    // CHECK-NEXT: loop.for %io = 0 to 2 {
    loop.for %io = 0 to 2 {
      // CHECK-NEXT: loop.for %r = 0 to 6 {
      loop.for %r = 0 to 6 {
        // CHECK-NEXT: loop.for %ii = 0 to 4 unroll {
        loop.for %ii = 0 to 4 unroll {
          // CHECK-NEXT: loop.if (-1 * %r >= 0) {
          // CHECK-NEXT:   %z = arith.constant 0.000000e+00 : f32
          // CHECK-NEXT:   loop.store %z, %y[0, 4 * %io + %ii] : memref<1x8xf32>
          // CHECK-NEXT: }
          // CHECK-NEXT: %a = loop.load %x[0, 4 * %io + %ii, %r] : memref<1x8x6xf32>
          // CHECK-NEXT: %o = loop.load %y[0, 4 * %io + %ii] : memref<1x8xf32>
          // CHECK-NEXT: %s = arith.addf %o, %a : f32
          // CHECK-NEXT: loop.store %s, %y[0, 4 * %io + %ii] : memref<1x8xf32>
          loop.block "sum" (%bn = %n : par 1, %bi = 4 * %io + %ii : par 8, %br = %r : reduce 6) {
            %a = loop.load %x[%bn, %bi, %br] or 0.0 : memref<1x8x6xf32>
            %o = loop.load %y[%bn, %bi] : memref<1x8xf32>
            %s = arith.addf %o, %a : f32
            loop.store %s, %y[%bn, %bi] : memref<1x8xf32>
          } init {
            %z = arith.constant 0.0 : f32
            loop.store %z, %y[%bn, %bi] : memref<1x8xf32>
          }
        }
      }
    }
  }
  func.return
}

// -----

// A tail's guard stays where its loops need it, and proves its loads inside.
// CHECK-LABEL: @tail
func.func @tail(%x: memref<10xf32>, %y: memref<3x10xf32>) {
  // CHECK-NEXT: loop.for %i = 0 to 3 {
  // CHECK-NEXT:   loop.for %j = 0 to 4 {
  loop.for %i = 0 to 3 {
    loop.for %j = 0 to 4 {
      // CHECK-NEXT:   loop.if (-4 * %i - %j + 9 >= 0) {
      // CHECK-NEXT:     loop.for %k = 0 to 3 {
      loop.for %k = 0 to 3 {
        // CHECK-NEXT:     loop.load %x[4 * %i + %j] : memref<10xf32>
        // CHECK-NEXT:     loop.load %x[4 * %i + %j + 1] or 0.0 : memref<10xf32>
        loop.block "copy" (%a = 4 * %i + %j : par 10, %b = %k : par 3) where (9 - 4 * %i - %j >= 0, %k + 1 >= 0) {
          %v = loop.load %x[%a] or 0.0 : memref<10xf32>
          %w = loop.load %x[%a + 1] or 0.0 : memref<10xf32>
          %s = arith.addf %v, %w : f32
          loop.store %s, %y[%b, %a] : memref<3x10xf32>
        }
      }
    }
  }
  func.return
}

// -----

// A block that never runs, and the loops that are empty without it, go.
// CHECK-LABEL: @never
// CHECK-NEXT:    func.return
func.func @never(%y: memref<4xf32>) {
  loop.for %i = 0 to 4 {
    loop.block "never" (%a = %i : par 4) where (%i - 4 >= 0) {
      %z = arith.constant 0.0 : f32
      loop.store %z, %y[%a] : memref<4xf32>
    }
  }
  loop.for %i = 0 to 0 {
    loop.block "none" (%a = %i : par 0) {
      %z = arith.constant 0.0 : f32
      loop.store %z, %y[%a] : memref<4xf32>
    }
  }
  func.return
}

// -----

// An axis that is computed with becomes a value.
// CHECK-LABEL: @value
func.func @value(%y: memref<8xi32>) {
  loop.for %i = 0 to 2 {
    loop.for %j = 0 to 4 {
      loop.block "value" (%a = 4 * %i + %j : par 8) {
        // CHECK:      %[[A:.*]] = loop.apply 4 * %i + %j
        // CHECK-NEXT: %v = arith.index_cast %[[A]] : index to i32
        %v = arith.index_cast %a : index to i32
        loop.store %v, %y[%a] : memref<8xi32>
      }
    }
  }
  func.return
}

// Reduced axes of a fused loop start together, at one place.
// CHECK-LABEL: @fused_reduction
func.func @fused_reduction(%x: memref<3x2xf32>, %y: memref<f32>) attributes {num_outputs = 1 : i64} {
  // CHECK:      loop.for %[[I:.*]] = 0 to 6 {
  // CHECK-NEXT:   loop.if (-1 * %[[I]] >= 0) {
  loop.for %i = 0 to 6 {
    loop.block "sum" (%a = %i floordiv 2 : reduce 3, %b = %i mod 2 : reduce 2) {
      %v = loop.load %x[%a, %b] : memref<3x2xf32>
      %s = loop.load %y[] : memref<f32>
      %t = arith.addf %s, %v : f32
      loop.store %t, %y[] : memref<f32>
    } init {
      %z = arith.constant 0.0 : f32
      loop.store %z, %y[] : memref<f32>
    }
  }
  func.return
}
