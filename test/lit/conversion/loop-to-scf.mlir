// RUN: nn-opt --split-input-file --convert-loop-to-scf %s | filecheck %s

// CHECK-LABEL: @nest(%x: memref<4x6xf32>, %y: memref<4x8xf32>)
func.func @nest(%x: memref<4x6xf32>, %y: memref<4x8xf32>) {
  // CHECK:      %acc = {{.*}}memref.alloca
  // CHECK:      %[[LOW:.*]] = arith.constant 0 : index
  // CHECK-NEXT: %[[HIGH:.*]] = arith.constant 4 : index
  // CHECK-NEXT: %[[STEP:.*]] = arith.constant 1 : index
  // CHECK-NEXT: scf.for %i = %[[LOW]] to %[[HIGH]] step %[[STEP]] {
  loop.for %i = 0 to 4 {
    %acc = loop.alloc "acc" : memref<8xf32, "register">
    // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
    // CHECK-NEXT: %[[ROW:.*]] = memref.load %x[%i, %[[ZERO]]] : memref<4x6xf32>
    %a = loop.load %x[%i, 0] : memref<4x6xf32>
    // CHECK-NEXT: %v = vector.broadcast
    %v = vector.broadcast %a : f32 to vector<8xf32>
    // CHECK:      vector.store %v, %acc
    loop.store %v, %acc[0] : memref<8xf32, "register">, vector<8xf32>
    // CHECK:      arith.cmpi sge
    // CHECK-NEXT: scf.if
    loop.if (%i - 1 >= 0) {
      // CHECK: vector.load %acc
      %w = loop.load %acc[0] : memref<8xf32, "register">, vector<8xf32>
      // CHECK: memref.reinterpret_cast %y to offset: [0], sizes: [32], strides: [1] : memref<4x8xf32> to memref<32xf32>
      // CHECK: vector.store
      loop.store %w, %y[%i, 0] : memref<4x8xf32>, vector<8xf32>
    }
  }
  func.return
}

// -----

// Outside the bounds is a branch; a buffer is freed; a bool is a byte.
// CHECK-LABEL: @bounds(%x: memref<4xi8>, %y: memref<4xi8>)
func.func @bounds(%x: memref<4xi1>, %y: memref<4xi1>) {
  // CHECK: memref.alloc
  %t = loop.alloc "t" : memref<4xi1>
  // CHECK: scf.parallel
  loop.for %i = 0 to 4 parallel {
    // CHECK:      %a = scf.if %{{.*}} -> (i1) {
    // CHECK:        %[[BYTE:.*]] = memref.load %x[%{{.*}}] : memref<4xi8>
    // CHECK-NEXT:   %[[BIT:.*]] = arith.trunci %[[BYTE]] : i8 to i1
    // CHECK-NEXT:   scf.yield %[[BIT]] : i1
    // CHECK-NEXT: } else {
    // CHECK-NEXT:   %[[TRUE:.*]] = arith.constant true
    // CHECK-NEXT:   scf.yield %[[TRUE]] : i1
    %a = loop.load %x[%i + 1] or true : memref<4xi1>
    // CHECK:      arith.extui %a : i1 to i8
    loop.store %a, %t[%i] : memref<4xi1>
  }
  loop.copy %t to %y : memref<4xi1> to memref<4xi1>
  // CHECK:      memref.dealloc
  // CHECK-NEXT: func.return
  func.return
}

// -----

// CHECK: memref.global "private" constant @constant_0 : memref<{{.*}}> = dense<
// CHECK-LABEL: func.func @constant(
func.func @constant(%y: memref<2x2xf32>) {
  // CHECK: memref.get_global @constant_0 : memref<2x2xf32>
  %c = loop.constant dense<0.5> : tensor<f32> to memref<2x2xf32>
  loop.copy %c to %y : memref<2x2xf32> to memref<2x2xf32>
  func.return
}
