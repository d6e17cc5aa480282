// RUN: nn-opt --vectorize-loops --split-input-file --verify-diagnostics %s

func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: loop.store goes to places that are not a fixed distance apart}}
  loop.for %i = 0 to 8 vector {
    %v = loop.load %x[%i] : memref<8xf32>
    loop.store %v, %y[%i floordiv 2] : memref<8xf32>
  }
  func.return
}

// -----

func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: loop.store of a value that the iteration before it stored has no vector form}}
  loop.for %i = 0 to 8 vector {
    %v = loop.load %y[0] : memref<8xf32>
    %w = arith.negf %v : f32
    loop.store %w, %y[0] : memref<8xf32>
  }
  func.return
}

// -----

func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: arith.negf under a guard that holds on lane 0 reads a value of every lane}}
  loop.for %i = 0 to 8 vector {
    %v = loop.load %x[%i] : memref<8xf32>
    loop.if (-1 * %i >= 0) {
      %w = arith.negf %v : f32
      loop.store %w, %y[0] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @f(%x: memref<8xf32>, %y: memref<8xindex>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: arith.addi under a guard that holds on lane 0 reads the loop's variable}}
  loop.for %i = 0 to 8 vector {
    loop.if (-1 * %i >= 0) {
      %w = arith.addi %i, %i : index
      loop.store %w, %y[0] : memref<8xindex>
    }
  }
  func.return
}

// -----

func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: loop.for %j inside it is a vector loop too}}
  loop.for %i = 0 to 8 vector {
    loop.for %j = 0 to 8 vector {
    }
  }
  func.return
}

// -----

func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{loop.for: cannot vectorize %i: func.call has no form on vectors}}
  loop.for %i = 0 to 8 vector {
    %v = loop.load %x[%i] : memref<8xf32>
    func.call @g(%v) : (f32) -> ()
  }
  func.return
}
func.func private @g(f32)
