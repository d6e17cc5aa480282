// Reductions that cannot be taken apart.
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
  %m, %n, %k = sched.axes 3 of "mm"
  sched.decompose_init "mm" at %k
  // expected-error@+1 {{decompose_init: stage 'mm' has no init}}
  sched.decompose_init "mm" at %k
}

// -----

func.func @f(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce ordered add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  %m, %n, %k = sched.axes 3 of "mm"
  // expected-error@+1 {{rfactor: %k is no `reduce fast` loop of 'mm'}}
  sched.rfactor "mm" at %k
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
  %a, %b = sched.split %k by 5
  sched.reorder %m, %a, %n, %b
  // expected-error@+1 {{rfactor: %ko holds more than reduce loops of 'mm'}}
  sched.rfactor "mm" at %b
}

// -----

func.func @f(%x: tensor<6x5x2xf32>, %w: tensor<2x5x21xf32>) -> tensor<6x21xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%m: 6, %n: 21) reduce fast add (%k: 5, %l: 2) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k, %l] : tensor<6x5x2xf32>
    %b = tensor.read %w[%l, %k, %n] : tensor<2x5x21xf32>
    %d = arith.mulf %a, %b : f32
    %e = arith.index_cast %k : index to i32
    %g = arith.sitofp %e : i32 to f32
    %c = arith.mulf %d, %g : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
sched.script for @f {
  %m, %n, %k, %l = sched.axes 4 of "mm"
  sched.reorder %l, %k
  %q = sched.fuse %l, %k
  // expected-error@+1 {{rfactor: axis 2 of 'mm' is no multiple of %l_k}}
  sched.rfactor "mm" at %q
}
