// RUN: nn-opt --convert-loop-to-llvm --split-input-file %s | filecheck %s

// A rolled loop tests at its end; its address is one step, the rest a constant offset.
// CHECK-LABEL: llvm.func @rolled(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}) attributes {no_unwind}
func.func @rolled(%x: memref<8x4xf32>, %y: memref<8xf32>) {
  // CHECK:      llvm.br ^[[LOOP:[a-z0-9]+]](%{{.*}} : i64)
  // CHECK-NEXT: ^[[LOOP]](%[[I:.*]]: i64):
  // CHECK-NEXT: %[[ROW:.*]] = llvm.getelementptr %x[%[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x f32>
  // CHECK-NEXT: %[[TO:.*]] = llvm.getelementptr %y[%[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %[[ROW]][3] : (!llvm.ptr) -> !llvm.ptr, f32
  // CHECK-NEXT: %[[V:.*]] = llvm.load %[[AT]] {alignment = 4 : i64}
  // CHECK-NEXT: llvm.store %[[V]], %[[TO]] {alignment = 4 : i64}
  // CHECK-NEXT: %[[N:.*]] = llvm.add %[[I]], %{{.*}} overflow<nsw,nuw> : i64
  // CHECK-NEXT: %[[MORE:.*]] = llvm.icmp "ult" %[[N]], %{{.*}} : i64
  // CHECK-NEXT: llvm.cond_br %[[MORE]], ^[[LOOP]](%[[N]] : i64), ^{{.*}}
  loop.for %i = 0 to 8 {
    %v = loop.load %x[%i, 3] : memref<8x4xf32>
    loop.store %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// Registers are values that the loop carries; the unrolled loop is gone.
// CHECK-LABEL: llvm.func @registers
func.func @registers(%x: memref<8x2xf32>, %y: memref<2xf32>) {
  // CHECK:     llvm.br ^[[LOOP:[a-z0-9]+]](%{{.*}}, %[[Z:.*]], %[[Z]] : i64, f32, f32)
  // CHECK-NEXT: ^[[LOOP]](%{{.*}}: i64, %[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK:     %[[C:.*]] = llvm.fadd %[[A]], %{{.*}} : f32
  // CHECK:     %[[D:.*]] = llvm.fadd %[[B]], %{{.*}} : f32
  // CHECK:     llvm.cond_br %{{.*}}, ^[[LOOP]](%{{.*}}, %[[C]], %[[D]] : i64, f32, f32), ^{{.*}}
  // CHECK:     llvm.store %[[C]], %y
  %acc = loop.alloc "acc" : memref<2xf32, "register">
  %z = arith.constant 0.0 : f32
  loop.for %j = 0 to 2 unroll {
    loop.store %z, %acc[%j] : memref<2xf32, "register">
  }
  loop.for %i = 0 to 8 {
    loop.for %j = 0 to 2 unroll {
      %v = loop.load %x[%i, %j] : memref<8x2xf32>
      %o = loop.load %acc[%j] : memref<2xf32, "register">
      %s = arith.addf %o, %v : f32
      loop.store %s, %acc[%j] : memref<2xf32, "register">
    }
  }
  loop.for %j = 0 to 2 unroll {
    %o = loop.load %acc[%j] : memref<2xf32, "register">
    loop.store %o, %y[%j] : memref<2xf32>
  }
  func.return
}

// -----

// An access of fewer lanes than others there means the first ones: the end of a row.
// CHECK-LABEL: llvm.func @first_lanes
func.func @first_lanes(%x: memref<7xf32>, %y: memref<4xf32>) {
  // CHECK:      %[[A:.*]] = llvm.load %x
  // CHECK:      %[[B:.*]] = llvm.shufflevector %[[A]], %[[A]] [0, 1, 2] : vector<4xf32>
  // CHECK:      %[[C:.*]] = llvm.fadd %[[B]], %{{.*}} : vector<3xf32>
  // CHECK:      %[[D:.*]] = llvm.shufflevector %[[C]], %[[C]] [0, 1, 2, -1] : vector<3xf32>
  // CHECK:      %[[E:.*]] = llvm.shufflevector %[[D]], %[[A]] [0, 1, 2, 7] : vector<4xf32>
  // CHECK:      llvm.store %[[E]], %y
  %acc = loop.alloc "acc" : memref<4xf32, "register">
  %a = loop.load %x[0] : memref<7xf32>, vector<4xf32>
  loop.store %a, %acc[0] : memref<4xf32, "register">, vector<4xf32>
  %b = loop.load %x[4] : memref<7xf32>, vector<3xf32>
  %o = loop.load %acc[0] : memref<4xf32, "register">, vector<3xf32>
  %c = arith.addf %o, %b : vector<3xf32>
  loop.store %c, %acc[0] : memref<4xf32, "register">, vector<3xf32>
  %d = loop.load %acc[0] : memref<4xf32, "register">, vector<4xf32>
  loop.store %d, %y[0] : memref<4xf32>, vector<4xf32>
  func.return
}

// -----

// CHECK-LABEL: llvm.func internal @parallel.par0(%begin: i64, %end: i64, %context: !llvm.ptr)
// CHECK-LABEL: llvm.func @parallel
func.func @parallel(%x: memref<8xf32>) {
  // CHECK:      %[[C:.*]] = llvm.alloca
  // CHECK:      llvm.store %x, %[[C]]
  // CHECK-NEXT: llvm.call @nn_parallel(%{{.*}}, %[[C]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  loop.for %i = 0 to 8 parallel {
    %z = arith.constant 0.0 : f32
    loop.store %z, %x[%i] : memref<8xf32>
  }
  func.return
}

// -----

// A load with a default has no branch; conditions that always hold are not tested.
// CHECK-LABEL: llvm.func @outside
func.func @outside(%x: memref<4x8xf32>, %y: memref<6x8xf32>) {
  // CHECK:     %[[IN:.*]] = llvm.icmp "ult"
  // CHECK-NOT: icmp
  // CHECK:     llvm.select %[[IN]], %{{.*}}, %x : i1, !llvm.ptr
  // CHECK:     llvm.select %[[IN]], %{{.*}}, %{{.*}} : i1, f32
  loop.for %i = 0 to 6 {
    loop.for %j = 0 to 8 {
      %v = loop.load %x[%i - 1, %j] or 0.0 : memref<4x8xf32>
      loop.store %v, %y[%i, %j] : memref<6x8xf32>
    }
  }
  func.return
}

// -----

// @main becomes the entry; kernels are internal.
// CHECK:       builtin.module attributes {nn.weights = [dense<1.000000e+00> : tensor<4xf32>], nn.weight_offsets = array<i64: 0>, nn.weight_bytes = 64 : i64, nn.arena_bytes = 0 : i64}
// CHECK-LABEL: llvm.func internal @kernel
// CHECK-LABEL: llvm.func @nn_main(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %weights: !llvm.ptr, %arena: !llvm.ptr)
// CHECK-NEXT:  %x = llvm.load %inputs
// CHECK-NEXT:  %y = llvm.load %outputs
// CHECK-NEXT:  llvm.call @kernel(%x, %weights, %y)
func.func private @kernel(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) attributes {kernel, num_outputs = 1 : i64} {
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  %w = loop.constant dense<1.0> : tensor<4xf32> to memref<4xf32>
  func.call @kernel(%x, %w, %y) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
