// Every op of tensor with every field, through the readable and the generic form.
// RUN: nn-opt %s | filecheck %s
// RUN: nn-opt --print-op-generic %s | nn-opt | filecheck %s

// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK-NEXT: %y = tensor.compute "conv" (%n: 1, %f: 4, %p: 4, %q: 4) reduce fast add (%c: 3, %r: 3, %s: 3) : tensor<1x4x4x4xf32> {
  %y = tensor.compute "conv" (%n: 1, %f: 4, %p: 4, %q: 4) reduce fast add (%c: 3, %r: 3, %s: 3) : tensor<1x4x4x4xf32> {
    // CHECK-NEXT: %a = tensor.read %x[0, %c, 2 * %p + %r - 1, 2 * %q + %s - 1] or 0.0 : tensor<1x3x8x8xf32>
    %a = tensor.read %x[0, %c, 2 * %p + %r - 1, 2 * %q + %s - 1] or 0.0 : tensor<1x3x8x8xf32>
    // CHECK-NEXT: %b = tensor.read %w[%f, %c, %r, %s] : tensor<4x3x3x3xf32>
    %b = tensor.read %w[%f, %c, %r, %s] : tensor<4x3x3x3xf32>
    %m = arith.mulf %a, %b : f32
    // CHECK: tensor.yield %m : f32
    tensor.yield %m : f32
  }
  func.return %y : tensor<1x4x4x4xf32>
}

// CHECK-LABEL: @blocks_and_rank_zero
func.func @blocks_and_rank_zero(%x: tensor<2x4xf32>) -> (tensor<8xf32>, tensor<f32>) {
  // CHECK-NEXT: tensor.compute "plain" (%i: 8) attributes {note = 1 : i64} : tensor<8xf32> {
  %y = tensor.compute "plain" (%i: 8) attributes {note = 1 : i64} : tensor<8xf32> {
    // CHECK-NEXT: tensor.read %x[%i floordiv 4, %i mod 4] : tensor<2x4xf32>
    %e = tensor.read %x[%i floordiv 4, %i mod 4] : tensor<2x4xf32>
    tensor.yield %e : f32
  }
  // CHECK: tensor.compute "sum" () reduce ordered add (%i_1: 8) : tensor<f32> {
  %z = tensor.compute "sum" () reduce ordered add (%i: 8) : tensor<f32> {
    %e = tensor.read %y[%i] : tensor<8xf32>
    tensor.yield %e : f32
  }
  func.return %y, %z : tensor<8xf32>, tensor<f32>
}

// CHECK-LABEL: @custom_combiner
func.func @custom_combiner(%x: tensor<4xf32>) -> (tensor<f32>, tensor<i64>) {
  // CHECK-NEXT: %v, %at = tensor.compute "argmax" () reduce fast custom (%k: 4) init (-inf, 0) : tensor<f32>, tensor<i64> {
  %v, %at = tensor.compute "argmax" () reduce fast custom (%k: 4) init (-inf, 0) : tensor<f32>, tensor<i64> {
    %a = tensor.read %x[%k] : tensor<4xf32>
    %j = arith.index_cast %k : index to i64
    tensor.yield %a, %j : f32, i64
  // CHECK: } combine {
  } combine {
  // CHECK-NEXT: ^{{.*}}(%best: f32, %best_at: i64, %new: f32, %new_at: i64):
  ^bb0(%best: f32, %best_at: i64, %new: f32, %new_at: i64):
    %wins = arith.cmpf ogt, %new, %best : f32
    %value = arith.select %wins, %new, %best : f32
    %place = arith.select %wins, %new_at, %best_at : i64
    tensor.yield %value, %place : f32, i64
  }
  func.return %v, %at : tensor<f32>, tensor<i64>
}

// CHECK-LABEL: @data_dependent
func.func @data_dependent(%x: tensor<9x4xf32>, %at: tensor<3xi32>) -> tensor<3x4xf32> {
  %y = tensor.compute "gather" (%i: 3, %j: 4) : tensor<3x4xf32> {
    %k = tensor.read %at[%i] : tensor<3xi32>
    %row = arith.index_cast %k : i32 to index
    // CHECK: tensor.read %x[%row, -1 * %j + 3] or -0.125 : tensor<9x4xf32>
    %e = tensor.read %x[%row, 3 - %j] or -0.125 : tensor<9x4xf32>
    tensor.yield %e : f32
  }
  func.return %y : tensor<3x4xf32>
}

// CHECK-LABEL: @values
func.func @values(%h: tensor<2xf32>, %xs: tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>, tensor<10xf32>) {
  // CHECK-NEXT: tensor.constant dense<1.000000e+00> : tensor<2xf32> to tensor<2xf32>
  %one = tensor.constant dense<1.0> : tensor<2xf32> to tensor<2xf32>
  // CHECK-NEXT: %last, %ys = tensor.scan reverse 1 (%s = %h : tensor<2xf32>, %x = %xs : tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>) {
  %last, %ys = tensor.scan reverse 1 (%s = %h : tensor<2xf32>, %x = %xs : tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>) {
    %next = tensor.compute "step" (%i: 2) : tensor<2xf32> {
      %a = tensor.read %s[%i] : tensor<2xf32>
      %b = tensor.read %x[%i] : tensor<2xf32>
      %c = arith.addf %a, %b : f32
      tensor.yield %c : f32
    }
    // CHECK: tensor.yield %next, %s : tensor<2xf32>, tensor<2xf32>
    tensor.yield %next, %s : tensor<2xf32>, tensor<2xf32>
  }
  // CHECK: tensor.view %ys : tensor<5x2xf32> to tensor<10xf32>
  %flat = tensor.view %ys : tensor<5x2xf32> to tensor<10xf32>
  func.return %last, %ys, %flat : tensor<2xf32>, tensor<5x2xf32>, tensor<10xf32>
}

// CHECK-LABEL: @stack
func.func @stack(%x: tensor<6xf32>) -> tensor<2x2x3xf32> {
  // CHECK-NEXT: tensor.compute "both" (%i: 3) stack [2, 2] : tensor<2x2x3xf32> {
  %y = tensor.compute "both" (%i: 3) stack [2, 2] : tensor<2x2x3xf32> {
    %a = tensor.read %x[%i] : tensor<6xf32>
    %b = tensor.read %x[%i + 3] : tensor<6xf32>
    // CHECK: tensor.yield %a, %b, %b, %a : f32, f32, f32, f32
    tensor.yield %a, %b, %b, %a : f32, f32, f32, f32
  }
  func.return %y : tensor<2x2x3xf32>
}
