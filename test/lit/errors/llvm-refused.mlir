// RUN: nn-opt --convert-loop-to-llvm --split-input-file --verify-diagnostics %s

func.func @f(%x: memref<8xf32>) {
  %r = loop.alloc "acc" : memref<8xf32, "register">
  // expected-error@+1 {{loop.copy: takes the register buffer 'acc'}}
  loop.copy %r to %x : memref<8xf32, "register"> to memref<8xf32>
  func.return
}

// -----

func.func @f(%x: memref<6xf16>) {
  %a = loop.load %x[0] : memref<6xf16>, vector<2xf16>
  %b = loop.load %x[0] : memref<6xf16>, vector<6xf16>
  %c = arith.constant dense<0.0> : vector<3xf32>
  // expected-error@+1 {{loop.dot: no machine has this instruction}}
  %d = loop.dot %c, %a, %b : vector<3xf32>, vector<2xf16>
  func.return
}

// -----

func.func @f(%x: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-error@+1 {{loop.block: --convert-loop-to-llvm has no rule for this operation}}
    loop.block "b" (%a = %i : par 8) {
    }
  }
  func.return
}
