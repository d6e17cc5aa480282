// Loops that do something else than the intrinsic that they are to become.
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
  // expected-error@+1 {{tensorize: no intrinsic is named 'dot'}}
  sched.tensorize %m as "dot"
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
  sched.parallel %m
  // expected-error@+1 {{tensorize: loop %m is already marked parallel}}
  sched.tensorize %m as "dot_bf16x2"
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
  // expected-error@+1 {{loop %k is no dot_bf16x2: %k holds several stages}}
  sched.tensorize %k as "dot_bf16x2"
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
  // expected-error@+1 {{loop %i is no dot_bf16x2: %i holds more than %k}}
  sched.tensorize %i as "dot_bf16x2"
}

// -----

func.func @f(%x: tensor<8xbf16>, %w: tensor<8x16xbf16>) -> tensor<16xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%n: 16) reduce fast add (%k: 8) : tensor<16xf32> {
    %a = tensor.read %x[%k] : tensor<8xbf16>
    %b = tensor.read %w[%k, %n] : tensor<8x16xbf16>
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %e = arith.mulf %c, %d : f32
    tensor.yield %e : f32
  }
  func.return %y : tensor<16xf32>
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  sched.decompose_init "mm" at %n
  %a, %b = sched.split %k by 2
  sched.reorder %a, %n, %b
  // expected-error@+1 {{loop %n is no dot_bf16x2: loop.load of bf16 moves by 1 with %n, expected 2}}
  sched.tensorize %n as "dot_bf16x2"
}

// -----

func.func @f(%x: tensor<8xbf16>, %w: tensor<4x32xbf16>) -> tensor<16xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%n: 16) reduce fast add (%k: 8) : tensor<16xf32> {
    %a = tensor.read %x[%k floordiv 3] : tensor<8xbf16>
    %b = tensor.read %w[%k floordiv 2, 2 * %n + %k mod 2] : tensor<4x32xbf16>
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %e = arith.mulf %c, %d : f32
    tensor.yield %e : f32
  }
  func.return %y : tensor<16xf32>
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  sched.decompose_init "mm" at %n
  %a, %b = sched.split %k by 2
  sched.reorder %a, %n, %b
  // expected-error@+1 {{loop %n is no dot_bf16x2: loop.load of bf16 moves by no constant with %ki, expected 1}}
  sched.tensorize %n as "dot_bf16x2"
}

// -----

func.func @f(%x: tensor<8xf16>, %w: tensor<4x32xf16>) -> tensor<16xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%n: 16) reduce fast add (%k: 8) : tensor<16xf32> {
    %a = tensor.read %x[%k] : tensor<8xf16>
    %b = tensor.read %w[%k floordiv 2, 2 * %n + %k mod 2] : tensor<4x32xf16>
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : f16 to f32
    %e = arith.mulf %c, %d : f32
    tensor.yield %e : f32
  }
  func.return %y : tensor<16xf32>
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  sched.decompose_init "mm" at %n
  %a, %b = sched.split %k by 2
  sched.reorder %a, %n, %b
  // expected-error@+1 {{loop %n is no dot_bf16x2: loop.load of f16 stands where bf16 is expected}}
  sched.tensorize %n as "dot_bf16x2"
}

// -----

func.func @f(%x: tensor<8xbf16>, %w: tensor<4x32xbf16>) -> tensor<16xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%n: 16) reduce fast add (%k: 8) : tensor<16xf32> {
    %a = tensor.read %x[%k - 1] or 0.0 : tensor<8xbf16>
    %b = tensor.read %w[%k floordiv 2, 2 * %n + %k mod 2] : tensor<4x32xbf16>
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %e = arith.mulf %c, %d : f32
    tensor.yield %e : f32
  }
  func.return %y : tensor<16xf32>
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  sched.decompose_init "mm" at %n
  %a, %b = sched.split %k by 2
  sched.reorder %a, %n, %b
  // expected-error@+1 {{loop %n is no dot_bf16x2: loop.load of bf16 may leave its buffer}}
  sched.tensorize %n as "dot_bf16x2"
}

// -----

func.func @f(%x: tensor<8xbf16>, %w: tensor<4x32xbf16>) -> tensor<16xf32> attributes {kernel} {
  %y = tensor.compute "mm" (%n: 16) reduce fast add (%k: 7) : tensor<16xf32> {
    %a = tensor.read %x[%k] : tensor<8xbf16>
    %b = tensor.read %w[%k floordiv 2, 2 * %n + %k mod 2] : tensor<4x32xbf16>
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %e = arith.mulf %c, %d : f32
    tensor.yield %e : f32
  }
  func.return %y : tensor<16xf32>
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  sched.decompose_init "mm" at %n
  %a, %b = sched.split %k by 2
  sched.reorder %a, %n, %b
  // expected-error@+1 {{loop %n is no dot_bf16x2: stage 'mm' tests %ki}}
  sched.tensorize %n as "dot_bf16x2"
}

// -----

func.func @f(%x: memref<2xbf16>, %w: memref<32xbf16>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {kernel, num_outputs = 2 : i64} {
  loop.for %n = 0 to 16 {
    loop.for %k = 0 to 2 {
      loop.block "mm" (%i = %n : par 16, %j = %k : reduce 2) {
        %a = loop.load %x[%j] : memref<2xbf16>
        %b = loop.load %w[2 * %i + %j] : memref<32xbf16>
        %s = loop.load %y[%i] : memref<16xf32>
        %c = arith.extf %a : bf16 to f32
        %d = arith.extf %b : bf16 to f32
        %e = math.fma %c, %d, %s : f32
        loop.store %e, %y[%i] : memref<16xf32>
        loop.store %e, %z[%i] : memref<16xf32>
      }
    }
  }
  func.return
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  // expected-error@+1 {{loop %n is no dot_bf16x2: it stores 2 values, expected 1}}
  sched.tensorize %n as "dot_bf16x2"
}

// -----

func.func @f(%x: memref<2xbf16>, %w: memref<32xbf16>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {kernel, num_outputs = 2 : i64} {
  loop.for %n = 0 to 16 {
    loop.for %k = 0 to 2 {
      loop.block "mm" (%i = %n : par 16, %j = %k : reduce 2) {
        %a = loop.load %x[%j] : memref<2xbf16>
        %b = loop.load %w[2 * %i + %j] : memref<32xbf16>
        %s = loop.load %z[%i] : memref<16xf32>
        %c = arith.extf %a : bf16 to f32
        %d = arith.extf %b : bf16 to f32
        %e = math.fma %c, %d, %s : f32
        loop.store %e, %y[%i] : memref<16xf32>
      }
    }
  }
  func.return
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  // expected-error@+1 {{loop %n is no dot_bf16x2: loop.load of f32 is not at the place of the other access that it belongs with}}
  sched.tensorize %n as "dot_bf16x2"
}

// -----

func.func @f(%x: memref<2xbf16>, %w: memref<32xbf16>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {kernel, num_outputs = 2 : i64} {
  loop.for %n = 0 to 16 {
    loop.for %k = 0 to 2 {
      loop.block "mm" (%i = %n : par 16, %j = %k : reduce 2) {
        %a = loop.load %x[%j] : memref<2xbf16>, vector<1xbf16>
        %b = loop.load %w[2 * %i + %j] : memref<32xbf16>, vector<1xbf16>
        %s = loop.load %y[%i] : memref<16xf32>, vector<1xf32>
        %c = arith.extf %a : vector<1xbf16> to vector<1xf32>
        %d = arith.extf %b : vector<1xbf16> to vector<1xf32>
        %e = math.fma %c, %d, %s : vector<1xf32>
        loop.store %e, %y[%i] : memref<16xf32>, vector<1xf32>
      }
    }
  }
  func.return
}
sched.script for @f {
  %n, %k = sched.axes 2 of "mm"
  // expected-error@+1 {{loop %n is no dot_bf16x2: math.fma gives vector<1xf32>, not f32}}
  sched.tensorize %n as "dot_bf16x2"
}
