// RUN: nn-opt --convert-loop-to-gpu --split-input-file --verify-diagnostics %s

// expected-error @+1 {{the target x86-64-v4 has no GPU}}
builtin.module {
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @block(%x: memref<4xf32>) {
    loop.for %i = 0 to 4 thread_x {
      // expected-error @+1 {{stage 's' is still a block}}
      loop.block "s" (%a = %i : par 4) {
        %z = arith.constant 0.0 : f32
        loop.store %z, %x[%a] : memref<4xf32>
      }
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @serial(%x: memref<4xf32>) {
    %z = arith.constant 0.0 : f32
    // expected-error @+1 {{no loop of this nest of @serial is bound to blocks or threads}}
    loop.for %i = 0 to 4 {
      loop.store %z, %x[%i] : memref<4xf32>
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @time(%x: memref<3x4xf32>) {
    %z = arith.constant 0.0 : f32
    loop.for %t = 0 to 3 {
      // expected-error @+1 {{the serial loop %t is around loops bound to blocks}}
      loop.for %i = 0 to 4 block_x {
        loop.store %z, %x[%t, %i] : memref<3x4xf32>
      }
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @inner(%x: memref<3x4xf32>) {
    %z = arith.constant 0.0 : f32
    loop.for %t = 0 to 3 thread_x {
      // expected-error @+1 {{loop %i is bound to blocks inside another kind of loop}}
      loop.for %i = 0 to 4 block_x {
        loop.store %z, %x[%t, %i] : memref<3x4xf32>
      }
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @wider(%x: memref<3x4xf32>) {
    %z = arith.constant 0.0 : f32
    loop.for %t = 0 to 3 thread_x {
      // expected-error @+1 {{loop %i of 4 iterations is bound to thread_x inside a loop of 3 that is bound to it, too}}
      loop.for %i = 0 to 4 thread_x {
        loop.store %z, %x[%t, %i] : memref<3x4xf32>
      }
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @crossing(%x: memref<4xf32>) {
    loop.for %b = 0 to 1 block_x {
      %r = loop.alloc "r" : memref<4xf32, "register">
      loop.for %t = 0 to 4 thread_x {
        %a = loop.load %x[%t] : memref<4xf32>
        loop.store %a, %r[%t] : memref<4xf32, "register">
      }
      loop.for %t = 0 to 4 thread_x {
        // expected-error @+1 {{buffer 'r' in register memory, of one thread, is indexed along thread_x in several ways}}
        %a = loop.load %r[3 - %t] : memref<4xf32, "register">
        loop.store %a, %x[%t] : memref<4xf32>
      }
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @whole(%x: memref<4xf32>) {
    loop.for %b = 0 to 1 block_x {
      // expected-error @+1 {{buffer 'r' in stack memory, of one thread, is passed on whole}}
      %r = loop.alloc "r" : memref<4xf32, "stack">
      loop.for %t = 0 to 4 thread_x {
        %a = loop.load %x[%t] : memref<4xf32>
        loop.store %a, %r[%t] : memref<4xf32, "stack">
      }
      %v = loop.view %r : memref<4xf32, "stack"> to memref<2x2xf32, "stack">
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @several(%x: memref<4xf32>) {
    // expected-error @+1 {{buffer 's' in shared memory is used by several kernels}}
    %s = loop.alloc "s" : memref<4xf32, "shared">
    loop.for %t = 0 to 4 thread_x {
      %a = loop.load %x[%t] : memref<4xf32>
      loop.store %a, %s[%t] : memref<4xf32, "shared">
    }
    loop.for %t = 0 to 4 thread_x {
      %a = loop.load %s[%t] : memref<4xf32, "shared">
      loop.store %a, %x[%t] : memref<4xf32>
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @value(%x: memref<4xf32>, %y: memref<f32>) {
    %a = loop.load %y[] : memref<f32>
    // expected-error @+1 {{the value of a loop.load is used by several kernels}}
    loop.for %t = 0 to 4 thread_x {
      loop.store %a, %x[%t] : memref<4xf32>
    }
    func.return
  }
}

// -----

builtin.module attributes {nn.target = "opencl"} {
  func.func @whole_of_a_block(%x: memref<4xf32>) {
    loop.for %b = 0 to 2 block_x {
      %r = loop.alloc "r" : memref<4xf32>
      // expected-error @+1 {{buffer 'r' of each block is passed on whole}}
      %v = loop.view %r : memref<4xf32> to memref<2x2xf32>
      loop.for %t = 0 to 2 thread_x {
        %a = loop.load %v[%t, 0] : memref<2x2xf32>
        loop.store %a, %x[%t] : memref<4xf32>
      }
    }
    func.return
  }
}
