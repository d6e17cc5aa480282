// RUN: nn-opt --convert-loop-to-llvm --verify-diagnostics --split-input-file %s

func.func @rolled_index(%x: memref<4xf32>) {
  %r = loop.alloc "acc" : memref<4xf32, "register">
  %z = arith.constant 0.0 : f32
  loop.for %i = 0 to 4 {
    // expected-error @+1 {{index into register buffer 'acc' depends on loop %i}}
    loop.store %z, %r[%i] : memref<4xf32, "register">
  }
  func.return
}

// -----

func.func @later_lane(%x: memref<4xf32>) {
  // expected-error @+1 {{the register buffer 'acc': vector<4xf32> at element 0 and f32 at 1 overlap}}
  %r = loop.alloc "acc" : memref<4xf32, "register">
  %v = loop.load %r[0] : memref<4xf32, "register">, vector<4xf32>
  %s = loop.load %r[1] : memref<4xf32, "register">
  func.return
}

// -----

func.func @between_lanes(%x: memref<8xf32>) {
  // expected-error @+1 {{the register buffer 'acc': vector<4xf32> at element 0 and vector<4xf32> at 2 overlap}}
  %r = loop.alloc "acc" : memref<8xf32, "register">
  %u = loop.load %r[0] : memref<8xf32, "register">, vector<4xf32>
  %v = loop.load %r[2] : memref<8xf32, "register">, vector<4xf32>
  func.return
}

// -----

func.func @apart(%x: memref<8xf32>) {
  %r = loop.alloc "acc" : memref<8xf32, "register">
  // expected-error @+1 {{accesses vector<4xf32> at element 0, stride 2, of register buffer 'acc'}}
  %u = loop.load %r[0] stride 2 : memref<8xf32, "register">, vector<4xf32>
  func.return
}

// -----

func.func @unplanned(%x: memref<8xf32>) {
  // expected-error @+1 {{global buffer 'tmp' has no place yet}}
  %r = loop.alloc "tmp" : memref<8xf32>
  func.return
}

// -----

func.func @lanes(%x: memref<8xf32>) {
  // expected-error @+1 {{is still a loop over lanes}}
  loop.for %i = 0 to 8 vector {
  }
  func.return
}

// -----

func.func @shared_registers(%x: memref<8xf32>) {
  %r = loop.alloc "acc" : memref<1xf32, "register">
  %z = arith.constant 0.0 : f32
  loop.for %i = 0 to 8 parallel {
    // expected-error @+1 {{uses register buffer 'acc' of all threads}}
    loop.store %z, %r[0] : memref<1xf32, "register">
  }
  func.return
}
