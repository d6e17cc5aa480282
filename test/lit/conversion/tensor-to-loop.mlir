// RUN: nn-opt --split-input-file --convert-tensor-to-loop %s | filecheck %s

// Axes become loops, the reduction an init and a sum in the result's own buffer.
// CHECK-LABEL: func.func private @matmul(%x: memref<5x7xf32>, %w: memref<7x8xf32>, %y: memref<5x8xf32>) attributes {kernel, num_outputs = 1 : i64}
func.func private @matmul(%x: tensor<5x7xf32>, %w: tensor<7x8xf32>) -> tensor<5x8xf32> attributes {kernel} {
  // CHECK-NEXT: loop.for %m = 0 to 5 {
  // CHECK-NEXT:   loop.for %n = 0 to 8 {
  // CHECK-NEXT:     loop.for %k = 0 to 7 {
  // CHECK-NEXT:       loop.block "matmul" (%[[M:.*]] = %m : par 5, %[[N:.*]] = %n : par 8, %[[K:.*]] = %k : reduce 7) {
  // CHECK-NEXT:         %a = loop.load %x[%[[M]], %[[K]]] : memref<5x7xf32>
  // CHECK-NEXT:         %b = loop.load %w[%[[K]], %[[N]]] or 0.5 : memref<7x8xf32>
  // CHECK-NEXT:         %[[OLD:.*]] = loop.load %y[%[[M]], %[[N]]] : memref<5x8xf32>
  // CHECK-NEXT:         %[[NEW:.*]] = math.fma %a, %b, %[[OLD]] : f32
  // CHECK-NEXT:         loop.store %[[NEW]], %y[%[[M]], %[[N]]] : memref<5x8xf32>
  // CHECK-NEXT:       } init {
  // CHECK-NEXT:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT:         loop.store %[[ZERO]], %y[%[[M]], %[[N]]] : memref<5x8xf32>
  // CHECK-NEXT:       }
  %y = tensor.compute "matmul" (%m: 5, %n: 8) reduce fast add (%k: 7) : tensor<5x8xf32> {
    %a = tensor.read %x[%m, %k] : tensor<5x7xf32>
    %b = tensor.read %w[%k, %n] or 0.5 : tensor<7x8xf32>
    %p = arith.mulf %a, %b : f32
    tensor.yield %p : f32
  }
  // CHECK: func.return
  func.return %y : tensor<5x8xf32>
}

// -----

// A value that stays inside has a buffer; a view of the result costs nothing; a scalar neither.
// CHECK-LABEL: @stages(%x: memref<4x2xf32>, %v: memref<8xf32>)
func.func @stages(%x: tensor<4x2xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[OUT:.*]] = loop.view %v : memref<8xf32> to memref<4x2xf32>
  // CHECK-NEXT: %a = loop.alloc "neg" : memref<4x2xf32>
  %two = tensor.constant dense<2.0> : tensor<f32> to tensor<1xf32>
  // CHECK: loop.block "neg"
  %a = tensor.compute "neg" (%i: 4, %j: 2) : tensor<4x2xf32> {
    %e = tensor.read %x[%i, %j] : tensor<4x2xf32>
    %n = arith.negf %e : f32
    tensor.yield %n : f32
  }
  // CHECK:      loop.block "scale"
  // CHECK-NEXT:   %e{{.*}} = loop.load %a[
  // CHECK-NEXT:   %s = arith.constant 2.000000e+00 : f32
  // CHECK-NEXT:   %n{{.*}} = arith.mulf
  // CHECK-NEXT:   loop.store %n{{.*}}, %[[OUT]][
  %b = tensor.compute "scale" (%i: 4, %j: 2) : tensor<4x2xf32> {
    %e = tensor.read %a[%i, %j] : tensor<4x2xf32>
    %s = tensor.read %two[0] : tensor<1xf32>
    %n = arith.mulf %e, %s : f32
    tensor.yield %n : f32
  }
  %v = tensor.view %b : tensor<4x2xf32> to tensor<8xf32>
  func.return %v : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func private @step(memref<4xf32>, memref<4xf32>, memref<4xf32>)
func.func private @step(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// A scan overwrites its states, step by step from the last slice back.
// CHECK-LABEL: @scan(%x: memref<5x4xf32>, %h: memref<4xf32>, %ys: memref<5x4xf32>)
func.func @scan(%x: tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
  // CHECK-NEXT: %[[INIT:.*]] = loop.constant dense<1.000000e+00> : tensor<f32> to memref<4xf32>
  %h0 = tensor.constant dense<1.0> : tensor<f32> to tensor<4xf32>
  // CHECK-NEXT: loop.copy %[[INIT]] to %h
  // CHECK-NEXT: loop.for %t = 0 to 5 {
  // CHECK-NEXT:   %[[IN:.*]] = loop.view %x offset -4 * %t + 16 : memref<5x4xf32> to memref<4xf32>
  // CHECK-NEXT:   %[[OUT:.*]] = loop.view %ys offset -4 * %t + 16 : memref<5x4xf32> to memref<4xf32>
  // CHECK-NEXT:   func.call @step(%h, %[[IN]], %[[OUT]]) {nn.nodes = ["RNN_1"]} : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  // CHECK-NEXT:   loop.copy %[[OUT]] to %h
  // CHECK-NEXT: }
  %h, %ys = tensor.scan reverse 1 (%s = %h0 : tensor<4xf32>, %row = %x : tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
    %o = func.call @step(%s, %row) {nn.nodes = ["RNN_1"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    tensor.yield %o, %o : tensor<4xf32>, tensor<4xf32>
  }
  func.return %h, %ys : tensor<4xf32>, tensor<5x4xf32>
}

// -----

// What only says how many steps there are is not read.
// CHECK:         func.func private @step
func.func private @step(%h: tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: @counted
// CHECK:         loop.for %t = 0 to 3 {
// CHECK-NEXT:      %o = loop.alloc
// CHECK-NEXT:      func.call @step(%h, %o) : (memref<4xf32>, memref<4xf32>) -> ()
func.func @counted(%h0: tensor<4xf32>, %numbers: tensor<3xi64>) -> tensor<4xf32> {
  %h = tensor.scan 1 (%s = %h0 : tensor<4xf32>, %t = %numbers : tensor<3xi64>) -> (tensor<4xf32>) {
    %o = func.call @step(%s) : (tensor<4xf32>) -> tensor<4xf32>
    tensor.yield %o : tensor<4xf32>
  }
  func.return %h : tensor<4xf32>
}

// -----

// What no op here computes, or what is wanted twice, is copied.
// CHECK-LABEL: @copies
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: loop.block "neg"
  %a = tensor.compute "neg" (%i: 4) : tensor<4xf32> {
    %e = tensor.read %x[%i] : tensor<4xf32>
    %n = arith.negf %e : f32
    tensor.yield %n : f32
  }
  // CHECK:      loop.copy %a to %{{.*}} : memref<4xf32> to memref<4xf32>
  // CHECK-NEXT: loop.copy %x to %{{.*}} : memref<4xf32> to memref<4xf32>
  // CHECK-NEXT: func.return
  func.return %a, %a, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A custom combiner reads and writes all its accumulators; an ordered one keeps its order.
// CHECK-LABEL: @argmax
func.func @argmax(%x: tensor<5x4xf32>) -> (tensor<5xf32>, tensor<5xi64>) {
  // CHECK:      loop.block "argmax" (%{{.*}} = %a : par 5, %[[B:.*]] = %b : seq 4) {
  // CHECK-NEXT:   %v = loop.load %x
  // CHECK-NEXT:   %j = arith.index_cast %[[B]] : index to i64
  // CHECK-NEXT:   %p = loop.load %m
  // CHECK-NEXT:   %pi = loop.load %i
  // CHECK-NEXT:   %c = arith.cmpf ogt, %v, %p : f32
  // CHECK-NEXT:   %r = arith.select %c, %v, %p : f32
  // CHECK-NEXT:   %ri = arith.select %c, %j, %pi : i64
  // CHECK-NEXT:   loop.store %r, %m
  // CHECK-NEXT:   loop.store %ri, %i
  // CHECK-NEXT: } init {
  // CHECK-NEXT:   arith.constant 0xff800000 : f32
  // CHECK-NEXT:   arith.constant -1 : i64
  %m, %i = tensor.compute "argmax" (%a: 5) reduce ordered custom (%b: 4) init (-inf, -1) : tensor<5xf32>, tensor<5xi64> {
    %v = tensor.read %x[%a, %b] : tensor<5x4xf32>
    %j = arith.index_cast %b : index to i64
    tensor.yield %v, %j : f32, i64
  } combine {
  ^bb0(%p: f32, %pi: i64, %q: f32, %qi: i64):
    %c = arith.cmpf ogt, %q, %p : f32
    %r = arith.select %c, %q, %p : f32
    %ri = arith.select %c, %qi, %pi : i64
    tensor.yield %r, %ri : f32, i64
  }
  func.return %m, %i : tensor<5xf32>, tensor<5xi64>
}
