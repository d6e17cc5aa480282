// RUN: nn-opt --convert-loop-to-llvm --verify-diagnostics --split-input-file %s
// RUN: not nn-opt --convert-loop-to-llvm --split-input-file %s 2>&1 | filecheck %s

// CHECK: error: arith.constant: is tensor<4xf32>
// CHECK: hint: run --convert-tensor-to-loop first
func.func @tensor(%x: memref<4xf32>) {
  // expected-error @+1 {{arith.constant: is tensor<4xf32>, expected a number or a vector with one dimension}}
  %c = arith.constant dense<1.0> : tensor<4xf32>
  func.return
}

// -----

// CHECK: error: arith.constant: is vector<4x2xf32>
// CHECK: hint: the lanes of a vector lie along one dimension
func.func @grid(%x: memref<4xf32>) {
  // expected-error @+1 {{arith.constant: is vector<4x2xf32>, expected a number or a vector with one dimension}}
  %c = arith.constant dense<1.0> : vector<4x2xf32>
  func.return
}

// -----

// CHECK: error: func.func: argument #0 is tensor<4xf32>
// CHECK: hint: run --convert-tensor-to-loop first
// expected-error @+1 {{argument #0 is tensor<4xf32>, expected a buffer, a number or a vector}}
func.func @argument(%x: tensor<4xf32>) {
  func.return
}

// -----

// CHECK: error: func.func: argument #1 is f32
// CHECK: hint: pass it in a buffer, such as memref<f32>
// expected-error @+1 {{argument #1 is f32, expected a buffer}}
func.func @main(%x: memref<4xf32>, %y: f32) {
  func.return
}

// -----

// CHECK: error: func.func: argument #0 is memref<4xf32, strided<[2]>>
// CHECK: hint: buffers have a known size and no layout of their own
// expected-error @+1 {{argument #0 is memref<4xf32, strided<[2]>>, expected a buffer}}
func.func @strided(%x: memref<4xf32, strided<[2]>>) {
  func.return
}

// -----

// expected-error @+1 {{argument #0 is memref<?xf32>, expected a buffer}}
func.func @unknown(%x: memref<?xf32>) {
  func.return
}

// -----

// CHECK: error: func.func: returns f32
// CHECK: hint: run --convert-tensor-to-loop first
// expected-error @+1 {{returns f32, expected results in buffers}}
func.func @result(%x: f32) -> f32 {
  func.return %x : f32
}
