// Buffers that cannot be copied.
// RUN: nn-opt --convert-tensor-to-loop --apply-schedule --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<6xf32>, %p: tensor<6xi32>) -> tensor<6xf32> attributes {kernel} {
  %y = tensor.compute "pick" (%i: 6) : tensor<6xf32> {
    %a = tensor.read %p[%i] : tensor<6xi32>
    %b = arith.index_cast %a : i32 to index
    %c = tensor.read %x[%b] : tensor<6xf32>
    tensor.yield %c : f32
  }
  func.return %y : tensor<6xf32>
}
sched.script for @f {
  // expected-error@+1 {{cache_read: stage 'pick' reads the buffer data-dependently}}
  sched.cache_read "pick" operand 1
}

// -----

func.func @f(%x: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %a = tensor.read %x[%i, %k] : tensor<6x6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %r1 = tensor.read %d[%i - 1, %k] or 1.0 : tensor<6x6xf32>
    %r2 = tensor.read %d[%i, %k - 1] or 2.0 : tensor<6x6xf32>
    %r0 = arith.addf %r1, %r2 : f32 // tensor<6x6xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  // expected-error@+1 {{cache_read: stage 'sum' reads it with several `or` values}}
  sched.cache_read "sum" operand 0
}

// -----

func.func @f(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) attributes {kernel} {
  %y, %z = tensor.compute "both" (%i: 6) : tensor<6xf32>, tensor<6xf32> {
    %a = tensor.read %x[%i] : tensor<6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %a, %b : f32, f32
  }
  func.return %y, %z : tensor<6xf32>, tensor<6xf32>
}
sched.script for @f {
  // expected-error@+1 {{cache_write: stage 'both' writes 2 buffers}}
  sched.cache_write "both"
}
