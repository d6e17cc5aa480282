// RUN: nn-opt --verify-diagnostics --convert-loop-to-scf %s

func.func @block(%x: memref<4xf32>) {
  loop.for %i = 0 to 4 {
    // expected-error@+1 {{loop.block: --convert-loop-to-scf has no rule for this operation}}
    loop.block "b" (%a = %i : par 4) {
    }
  }
  func.return
}
