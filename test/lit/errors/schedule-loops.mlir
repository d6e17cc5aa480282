// Loops that cannot be split, fused, ordered or marked as asked for.
// RUN: nn-opt --convert-tensor-to-loop --apply-schedule --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  // expected-error@+1 {{sched.axes: has no stage 'conv'}}
  %m, %n, %k = sched.axes 3 of "conv"
}

// -----

func.func @f(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
func.func @g(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  // expected-error@+1 {{stage 'mm' is in 3 loops, not 2}}
  %m, %n = sched.axes 2 of "mm"
}

// -----

func.func @f(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  %m, %n, %k = sched.axes 3 of "mm"
  // expected-error@+1 {{split: the factor of %k is 0, expected at least 1}}
  %a, %b = sched.split %k by 0
}

// -----

func.func @f(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  %m, %n, %k = sched.axes 3 of "mm"
  // expected-error@+1 {{fuse: %k is not all that %m holds}}
  %a = sched.fuse %m, %k
}

// -----

func.func @f(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  %m, %n, %k = sched.axes 3 of "mm"
  // expected-error@+1 {{reorder: a loop is named twice}}
  sched.reorder %m, %m
}

// -----

func.func @f(%x: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %a = tensor.read %x[%i, %k] : tensor<6x6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %r0 = tensor.read %d[%i, %k] : tensor<6x6xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "sum"
  sched.compute_at "double" at %k
  // expected-error@+1 {{reorder: loop %k holds 2 stages}}
  sched.reorder %k, %i
}

// -----

func.func @f(%x: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %a = tensor.read %x[%i, %k] : tensor<6x6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %r0 = tensor.read %d[%i, %k] : tensor<6x6xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "sum"
  sched.compute_at "double" at %i
  // expected-error@+1 {{reorder: %i holds more than %k}}
  sched.reorder %k, %i
}

// -----

func.func @f(%x: tensor<6x200xf32>) -> tensor<6x200xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6, %k: 200) : tensor<6x200xf32> {
    %a = tensor.read %x[%i, %k] : tensor<6x200xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 200) : tensor<6x200xf32> {
    %r0 = tensor.read %d[%i, %k] : tensor<6x200xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<6x200xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "sum"
  // expected-error@+1 {{vectorize: loop %k has 200 iterations, expected at most 128}}
  sched.vectorize %k
}

// -----

func.func @f(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  %m, %n, %k = sched.axes 3 of "mm"
  sched.unroll %k
  // expected-error@+1 {{parallel: loop %k is already marked unroll}}
  sched.parallel %k
}

// -----

func.func @f(%x: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %a = tensor.read %x[%i, %k] : tensor<6x6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %r0 = tensor.read %d[%i, 0] : tensor<6x6xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "sum"
  sched.compute_at "double" at %k
  // expected-error@+1 {{parallel: all iterations of %k write the same of 'double'}}
  sched.parallel %k
}
