// RUN: nn-opt --split-input-file --vectorize-loops %s | filecheck %s

// A tile: the row of weights is a vector, the pixel a scalar on all lanes.
// CHECK-LABEL: @tile
func.func @tile(%x: memref<4x6xf32>, %w: memref<6x16xf32>, %y: memref<4x16xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %c = 0 to 6 {
      // CHECK-NOT: vector {
      loop.for %l = 0 to 16 vector {
        // CHECK:      %a = loop.load %x[%i, %c] : memref<4x6xf32>
        // CHECK-NEXT: %b = loop.load %w[%c, 0] : memref<6x16xf32>, vector<16xf32>
        // CHECK-NEXT: %o = loop.load %y[%i, 0] : memref<4x16xf32>, vector<16xf32>
        // CHECK-NEXT: %[[A:.*]] = vector.broadcast %a : f32 to vector<16xf32>
        // CHECK-NEXT: %n = math.fma %[[A]], %b, %o : vector<16xf32>
        // CHECK-NEXT: loop.store %n, %y[%i, 0] : memref<4x16xf32>, vector<16xf32>
        %a = loop.load %x[%i, %c] : memref<4x6xf32>
        %b = loop.load %w[%c, %l] : memref<6x16xf32>
        %o = loop.load %y[%i, %l] : memref<4x16xf32>
        %n = math.fma %a, %b, %o : f32
        loop.store %n, %y[%i, %l] : memref<4x16xf32>
      }
    }
  }
  func.return
}

// -----

// One place for all lanes: their sum is added once, and what starts it runs before.
// CHECK-LABEL: @sum
func.func @sum(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %l = 0 to 8 vector {
      // CHECK:      %z = arith.constant 0.000000e+00 : f32
      // CHECK-NEXT: loop.store %z, %y[%i] : memref<4xf32>
      loop.if (-1 * %l >= 0) {
        %z = arith.constant 0.0 : f32
        loop.store %z, %y[%i] : memref<4xf32>
      }
      // CHECK-NEXT: %a = loop.load %x[%i, 0] : memref<4x8xf32>, vector<8xf32>
      // CHECK-NEXT: %o = loop.load %y[%i] : memref<4xf32>
      // CHECK-NEXT: %[[P:.*]] = arith.mulf %a, %a : vector<8xf32>
      // CHECK-NEXT: %[[S:.*]] = vector.reduction <add>, %[[P]] fastmath<reassoc> : vector<8xf32> into f32
      // CHECK-NEXT: %[[N:.*]] = arith.addf %o, %[[S]] : f32
      // CHECK-NEXT: loop.store %[[N]], %y[%i] : memref<4xf32>
      %a = loop.load %x[%i, %l] : memref<4x8xf32>
      %o = loop.load %y[%i] : memref<4xf32>
      %n = math.fma %a, %a, %o : f32
      loop.store %n, %y[%i] : memref<4xf32>
    }
  }
  func.return
}

// -----

// Strides, what is outside, and lanes at places that only the run knows.
// CHECK-LABEL: @places
func.func @places(%x: memref<8x8xf32>, %r: memref<8xi32>, %y: memref<8x8xf32>) {
  loop.for %l = 0 to 8 vector {
    // CHECK:      %a = loop.load %x[0, 3] stride 8 : memref<8x8xf32>, vector<8xf32>
    %a = loop.load %x[%l, 3] : memref<8x8xf32>
    // CHECK-NEXT: %b = loop.load %x[2, -1] or 0.0 : memref<8x8xf32>, vector<8xf32>
    %b = loop.load %x[2, %l - 1] or 0.0 : memref<8x8xf32>
    // CHECK-NEXT: %k = loop.load %r[0] : memref<8xi32>, vector<8xi32>
    %k = loop.load %r[%l] : memref<8xi32>
    // CHECK-NEXT: %j = arith.extsi %k : vector<8xi32> to vector<8xi64>
    %j = arith.index_cast %k : i32 to index
    // CHECK-NEXT: %[[LANES:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    // CHECK-NEXT: %c = loop.gather 8 %x[%j, %[[LANES]]] or 0.5 : memref<8x8xf32>
    %c = loop.load %x[%j, %l] or 0.5 : memref<8x8xf32>
    %s = arith.addf %a, %b : f32
    %t = arith.addf %s, %c : f32
    // CHECK:      loop.store %t, %y[7, 0] stride -7 : memref<8x8xf32>, vector<8xf32>
    loop.store %t, %y[7 - %l, %l] : memref<8x8xf32>
  }
  func.return
}

// -----

// A guard on whose side lanes never differ: 100 places in vectors of 4.
// CHECK-LABEL: @guard_of_whole_vectors
func.func @guard_of_whole_vectors(%x: memref<100xf32>, %y: memref<100xf32>) {
  loop.for %i = 0 to 32 {
    loop.for %l = 0 to 4 vector {
      // CHECK:      loop.if (-4 * %i + 99 >= 0) {
      loop.if (99 - 4 * %i - %l >= 0) {
        // CHECK-NEXT: loop.load %x[4 * %i] : memref<100xf32>, vector<4xf32>
        %a = loop.load %x[4 * %i + %l] : memref<100xf32>
        loop.store %a, %y[4 * %i + %l] : memref<100xf32>
      }
    }
  }
  func.return
}
