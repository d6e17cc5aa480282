// RUN: nn-opt --plan-memory --verify-diagnostics %s

func.func private @kernel(%x: memref<4xf32>) attributes {num_outputs = 1 : i64} {
  loop.for %i = 0 to 4 parallel {
    // expected-error @+1 {{buffer 'tile' of 131072 bytes is one thread's, and a stack takes 65536}}
    %t = loop.alloc "tile" : memref<32768xf32>
    %z = arith.constant 0.0 : f32
    loop.store %z, %t[0] : memref<32768xf32>
  }
  func.return
}
