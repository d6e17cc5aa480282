// RUN: nn-opt --plan-memory --split-input-file --verify-diagnostics %s

func.func private @kernel(%x: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 4 parallel {
    // expected-error @+1 {{buffer 'tile' of 131072 bytes is one thread's, and a stack takes 65536}}
    %t = loop.alloc "tile" : memref<32768xf32>
    %z = arith.constant 0.0 : f32
    loop.store %z, %t[0] : memref<32768xf32>
  }
  func.return
}

// -----

func.func private @kernel(%x: memref<8xf32>) attributes {num_outputs = 1 : i64} {
  func.return
}
func.func @net(%x: memref<8xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 4 parallel {
    %t = loop.alloc "tile" : memref<8xf32>
    // expected-error @+1 {{buffer 'tile' is on the stack of one thread, which @kernel cannot read}}
    func.call @kernel(%t) : (memref<8xf32>) -> ()
  }
  func.return
}

// -----

func.func @even(%x: memref<8xf32>) attributes {num_outputs = 1 : i64} {
  func.call @odd(%x) : (memref<8xf32>) -> ()
  func.return
}
func.func @odd(%x: memref<8xf32>) attributes {num_outputs = 1 : i64} {
  // expected-error @+1 {{@even calls itself, so no plan holds its temporaries}}
  func.call @even(%x) : (memref<8xf32>) -> ()
  func.return
}

// -----

func.func @main(%x: memref<8xf32>) attributes {num_outputs = 1 : i64} {
  func.return
}
func.func @net(%x: memref<8xf32>) attributes {num_outputs = 1 : i64} {
  // expected-error @+1 {{@main is the entry, which only the caller of the whole program calls}}
  func.call @main(%x) : (memref<8xf32>) -> ()
  func.return
}
