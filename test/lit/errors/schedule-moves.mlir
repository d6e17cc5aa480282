// Stages that cannot move where they are asked to.
// RUN: nn-opt --convert-tensor-to-loop --apply-schedule --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  // expected-note@+1 {{see this loop.for}}
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
  %i, %k = sched.axes 2 of "double"
  // expected-error@+1 {{compute_at: 'sum' reads 'double' outside %i}}
  sched.compute_at "double" at %i
}

// -----

func.func @f(%x: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %a = tensor.read %x[%i, %k] : tensor<6x6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %r0 = tensor.read %x[%i, %k] : tensor<6x6xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "sum"
  // expected-error@+1 {{compute_at: nothing reads 'double'}}
  sched.compute_at "double" at %i
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
  %i, %k = sched.axes 2 of "double"
  %a, %b = sched.split %k by 2
  %j, %l = sched.axes 2 of "sum"
  // expected-error@+1 {{stage 'double' was scheduled before it is moved}}
  sched.compute_at "double" at %j
}

// -----

func.func @f(%x: memref<6xf32>, %y: memref<6xf32>) attributes {kernel, num_outputs = 1 : i64} {
  %d = loop.alloc "double" : memref<8xf32>
  loop.for %i = 0 to 6 {
    loop.block "double" (%a = %i : par 6) {
      %v = loop.load %x[%a] : memref<6xf32>
      loop.store %v, %d[%a + 1] : memref<8xf32>
    }
  }
  loop.for %i = 0 to 6 {
    loop.block "sum" (%a = %i : par 6) {
      %v = loop.load %d[%a + 1] : memref<8xf32>
      loop.store %v, %y[%a] : memref<6xf32>
    }
  }
  func.return
}
sched.script for @f {
  %i = sched.axes 1 of "sum"
  // expected-error@+1 {{stage 'double' does not store at its plain axes}}
  sched.compute_at "double" at %i
}

// -----

func.func @f(%x: memref<6xf32>, %y: memref<6xf32>) attributes {kernel, num_outputs = 1 : i64} {
  %d = loop.alloc "double" : memref<8xf32>
  loop.for %i = 0 to 6 {
    loop.block "double" (%a = %i : par 6) {
      %v = loop.load %x[%a] : memref<6xf32>
      loop.store %v, %d[%a + 1] : memref<8xf32>
    }
  }
  loop.for %i = 0 to 6 {
    loop.block "sum" (%a = %i : par 6) {
      %v = loop.load %d[%a + 1] : memref<8xf32>
      loop.store %v, %y[%a] : memref<6xf32>
    }
  }
  func.return
}
sched.script for @f {
  // expected-error@+1 {{inline: stage 'double' does not store at its plain axes}}
  sched.inline "double"
}

// -----

func.func @f(%x: tensor<6x6xf32>) -> tensor<12x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %a = tensor.read %x[%i, %k] : tensor<6x6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 12, %k: 6) : tensor<12x6xf32> {
    %r0 = tensor.read %d[%i floordiv 2, %k] : tensor<6x6xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<12x6xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "sum"
  %a, %b = sched.split %i by 3
  // expected-error@+1 {{stage 'sum' has the index (((d1 * 3) + d2) floordiv 2), which mixes loops}}
  sched.compute_at "double" at %a
}

// -----

func.func @f(%x: tensor<12x6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 12, %k: 6) : tensor<12x6xf32> {
    %a = tensor.read %x[%i, %k] : tensor<12x6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %r0 = tensor.read %d[%i, %k] : tensor<12x6xf32>
    %r1 = tensor.read %d[2 * %i, %k] : tensor<12x6xf32>
    %s1 = arith.addf %r0, %r1 : f32
    tensor.yield %s1 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "sum"
  // expected-error@+1 {{stage 'double' reads at unrelated places}}
  sched.compute_at "double" at %i
}

// -----

func.func @f(%x: tensor<6xf32>, %p: tensor<6xi32>) -> tensor<6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6) : tensor<6xf32> {
    %a = tensor.read %x[%i] : tensor<6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "pick" (%i: 6) : tensor<6xf32> {
    %a = tensor.read %p[%i] : tensor<6xi32>
    %b = arith.index_cast %a : i32 to index
    %c = tensor.read %d[%b] : tensor<6xf32>
    tensor.yield %c : f32
  }
  func.return %y : tensor<6xf32>
}
sched.script for @f {
  %i = sched.axes 1 of "pick"
  // expected-error@+1 {{stage 'pick' reads dimension 0 data-dependently}}
  sched.compute_at "double" at %i
}

// -----

func.func @f(%x: tensor<6xf32>) -> tensor<6x6xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 6) : tensor<6xf32> {
    %a = tensor.read %x[%i] : tensor<6xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %y = tensor.compute "sum" (%i: 6, %k: 6) : tensor<6x6xf32> {
    %r0 = tensor.read %d[%i] : tensor<6xf32>
    tensor.yield %r0 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  %i = sched.axes 1 of "double"
  // expected-error@+1 {{reverse_compute_at: stage 'sum' repeats over axis 1 what it reads}}
  sched.reverse_compute_at "sum" at %i
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
    %r1 = tensor.read %d[%k, %i] : tensor<6x6xf32>
    %s1 = arith.addf %r0, %r1 : f32
    tensor.yield %s1 : f32
  }
  func.return %y : tensor<6x6xf32>
}
sched.script for @f {
  %i, %k = sched.axes 2 of "double"
  // expected-error@+1 {{stage 'sum' reads its producer at two places}}
  sched.reverse_compute_at "sum" at %i
}
