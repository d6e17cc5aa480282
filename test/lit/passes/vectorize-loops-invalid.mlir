// RUN: nn-opt --split-input-file --verify-diagnostics --vectorize-loops %s

func.func @lanes(%y: memref<8x8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: has 300 iterations, at most 256 can be lanes}}
  loop.for %i = 0 to 300 vector {
  }
  func.return
}

// -----

func.func @guard(%y: memref<8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: loop.if holds on some lanes only}}
  loop.for %i = 0 to 8 vector {
    loop.if (5 - %i >= 0) {
      %z = arith.constant 0.0 : f32
      loop.store %z, %y[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @place(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: loop.store of different values goes to one place}}
  loop.for %i = 0 to 8 vector {
    %z = loop.load %x[%i] : memref<8xf32>
    loop.store %z, %y[0] : memref<8xf32>
  }
  func.return
}
