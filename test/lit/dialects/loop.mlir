// Every op of loop with every field, through the readable and the generic form.
// RUN: nn-opt %s | filecheck %s
// RUN: nn-opt --print-op-generic %s | nn-opt | filecheck %s

// CHECK-LABEL: @loops
func.func @loops(%x: memref<8x8xf32>) {
  // CHECK:      loop.for %i = 0 to 8 {
  loop.for %i = 0 to 8 {
    // CHECK-NEXT: loop.for %j = 0 to 4 parallel {
    loop.for %j = 0 to 4 parallel {
      // CHECK-NEXT: loop.for %k = 0 to 4 unroll attributes {note = 1 : i64} {
      loop.for %k = 0 to 4 unroll attributes {note = 1 : i64} {
        // CHECK-NEXT: loop.for %l = 0 to 16 vector {
        loop.for %l = 0 to 16 vector {
          // CHECK-NEXT: loop.if (%i - 1 >= 0, -1 * %j + 3 >= 0) {
          loop.if (%i - 1 >= 0, -1 * %j + 3 >= 0) {
            // CHECK-NEXT: %a = loop.apply 2 * %i + %j floordiv 2
            %a = loop.apply 2 * %i + %j floordiv 2 {note}
          }
        }
      }
    }
  }
  func.return
}

// CHECK-LABEL: @accesses
func.func @accesses(%x: memref<8x8xf32>, %b: memref<4xi1>, %s: memref<f32>) {
  loop.for %i = 0 to 4 {
    // CHECK: %p = loop.load %x[%i, 2 * %i + 1] : memref<8x8xf32>
    %p = loop.load %x[%i, 2 * %i + 1] : memref<8x8xf32>
    // CHECK-NEXT: %q = loop.load %x[%i - 1, %i mod 4] or -inf : memref<8x8xf32>
    %q = loop.load %x[%i - 1, %i mod 4] or -inf : memref<8x8xf32>
    // CHECK-NEXT: %r = loop.load %x[%i, 0] : memref<8x8xf32>, vector<8xf32>
    %r = loop.load %x[%i, 0] : memref<8x8xf32>, vector<8xf32>
    // CHECK-NEXT: %t = loop.load %x[0, %i] or 1.5 stride 8 {hot} : memref<8x8xf32>, vector<8xf32>
    %t = loop.load %x[0, %i] or 1.5 stride 8 {hot} : memref<8x8xf32>, vector<8xf32>
    // CHECK-NEXT: %u = loop.load %b[%i] or 0 : memref<4xi1>
    %u = loop.load %b[%i] or false : memref<4xi1>
    // CHECK-NEXT: loop.store %p, %x[%i, %i] : memref<8x8xf32>
    loop.store %p, %x[%i, %i] : memref<8x8xf32>
    // CHECK-NEXT: loop.store %t, %x[7, %i] stride -7 : memref<8x8xf32>, vector<8xf32>
    loop.store %t, %x[7, %i] stride -7 : memref<8x8xf32>, vector<8xf32>
    // CHECK-NEXT: loop.store %p, %s[] : memref<f32>
    loop.store %p, %s[] : memref<f32>
    %lanes = arith.constant dense<[0, 3, 1, 2]> : vector<4xi64>
    %rows = arith.constant dense<9> : vector<4xi64>
    // CHECK: %g = loop.gather 4 %x[%lanes, %rows] : memref<8x8xf32>
    %g = loop.gather 4 %x[%lanes, %rows] : memref<8x8xf32>
    // CHECK-NEXT: %h = loop.gather 4 %x[%rows, %lanes] or 0.0 : memref<8x8xf32>
    %h = loop.gather 4 %x[%rows, %lanes] or 0.0 : memref<8x8xf32>
  }
  func.return
}

// CHECK-LABEL: @block
func.func @block(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 2 {
    loop.for %j = 0 to 5 {
      loop.for %k = 0 to 8 {
        // CHECK:      loop.block "sum" (%a = 5 * %i + %j : par 8, %r = %k : reduce 8) where (-5 * %i - %j + 7 >= 0) attributes {note} {
        loop.block "sum" (%a = 5 * %i + %j : par 8, %r = %k : reduce 8) where (-5 * %i - %j + 7 >= 0) attributes {note} {
          // CHECK-NEXT: %v = loop.load %x[%a, %r] : memref<8x8xf32>
          %v = loop.load %x[%a, %r] : memref<8x8xf32>
          %o = loop.load %y[%a] : memref<8xf32>
          %n = arith.addf %o, %v : f32
          loop.store %n, %y[%a] : memref<8xf32>
        // CHECK: } init {
        } init {
          %z = arith.constant 0.0 : f32
          // CHECK: loop.store %z, %y[%a] : memref<8xf32>
          loop.store %z, %y[%a] : memref<8xf32>
        }
        // CHECK: loop.block "order" (%b = %k : seq 8) {
        loop.block "order" (%b = %k : seq 8) {
        }
      }
    }
  }
  // CHECK: loop.block "scalar" () {
  loop.block "scalar" () {
  }
  func.return
}

// CHECK-LABEL: @buffers
func.func @buffers(%x: memref<8x8xf32>) {
  // CHECK: %t = loop.alloc "t" : memref<8x8xf32>
  %t = loop.alloc "t" : memref<8x8xf32>
  // CHECK-NEXT: %r = loop.alloc "tile" {hot} : memref<4xf32, "register">
  %r = loop.alloc "tile" {hot} : memref<4xf32, "register">
  // CHECK-NEXT: %s = loop.alloc "row" : memref<8xf32, "stack">
  %s = loop.alloc "row" : memref<8xf32, "stack">
  // CHECK-NEXT: %c = loop.constant dense<1.000000e+00> : tensor<f32> to memref<4xf32>
  %c = loop.constant dense<1.0> : tensor<f32> to memref<4xf32>
  // CHECK-NEXT: %v = loop.view %x : memref<8x8xf32> to memref<64xf32>
  %v = loop.view %x : memref<8x8xf32> to memref<64xf32>
  // CHECK-NEXT: %w = loop.view %x offset 60 : memref<8x8xf32> to memref<2x2xf32>
  %w = loop.view %x offset 60 : memref<8x8xf32> to memref<2x2xf32>
  loop.for %i = 0 to 8 {
    // CHECK: %p = loop.view %x offset 8 * %i : memref<8x8xf32> to memref<8xf32>
    %p = loop.view %x offset 8 * %i : memref<8x8xf32> to memref<8xf32>
  }
  // CHECK: loop.copy %x to %t : memref<8x8xf32> to memref<8x8xf32>
  loop.copy %x to %t : memref<8x8xf32> to memref<8x8xf32>
  // CHECK-NEXT: %m = loop.arena : memref<128xi8>
  %m = loop.arena : memref<128xi8>
  // CHECK-NEXT: loop.view %m offset 64 : memref<128xi8> to memref<16xf32>
  %n = loop.view %m offset 64 : memref<128xi8> to memref<16xf32>
  func.return
}

// What xDSL's arith takes of scalars only, as MLIR writes it.
// CHECK-LABEL: @vectors
func.func @vectors(%f: vector<4xf32>, %i: vector<4xi32>, %c: i1) {
  // CHECK: %p = arith.cmpf ogt, %f, %f : vector<4xf32>
  %p = arith.cmpf ogt, %f, %f : vector<4xf32>
  // CHECK-NEXT: %q = arith.cmpi slt, %i, %i : vector<4xi32>
  %q = arith.cmpi slt, %i, %i : vector<4xi32>
  // CHECK-NEXT: arith.select %p, %f, %f : vector<4xi1>, vector<4xf32>
  %s = arith.select %p, %f, %f : vector<4xi1>, vector<4xf32>
  // CHECK-NEXT: arith.select %c, %f, %f : vector<4xf32>
  %t = arith.select %c, %f, %f : vector<4xf32>
  // CHECK-NEXT: arith.extsi %i : vector<4xi32> to vector<4xi64>
  %u = arith.extsi %i : vector<4xi32> to vector<4xi64>
  // CHECK-NEXT: arith.sitofp %i : vector<4xi32> to vector<4xf32>
  %v = arith.sitofp %i : vector<4xi32> to vector<4xf32>
  // CHECK-NEXT: arith.fptosi %f : vector<4xf32> to vector<4xi32>
  %w = arith.fptosi %f : vector<4xf32> to vector<4xi32>
  func.return
}

// CHECK-LABEL: @powers_of_two
func.func @powers_of_two(%x: vector<8xf32>, %n: vector<8xi32>, %y: f32, %m: i32) {
  // CHECK-NEXT: %a = loop.ldexp %x, %n : vector<8xf32>, vector<8xi32>
  %a = loop.ldexp %x, %n : vector<8xf32>, vector<8xi32>
  // CHECK-NEXT: %b = loop.ldexp %y, %m {note} : f32, i32
  %b = loop.ldexp %y, %m {note} : f32, i32
  func.return
}

// CHECK-LABEL: @dots
func.func @dots(%s: vector<16xf32>, %a: vector<2xbf16>, %b: vector<32xbf16>, %t: vector<4xi32>, %c: vector<4xi8>, %d: vector<16xi8>) {
  // CHECK-NEXT: %u = loop.dot %s, %a, %b : vector<16xf32>, vector<2xbf16>
  %u = loop.dot %s, %a, %b : vector<16xf32>, vector<2xbf16>
  // CHECK-NEXT: %v = loop.dot unsigned %t, %c, %d {note} : vector<4xi32>, vector<4xi8>
  %v = loop.dot unsigned %t, %c, %d {note} : vector<4xi32>, vector<4xi8>
  func.return
}
