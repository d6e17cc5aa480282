// RUN: nn-opt --verify-diagnostics --convert-loop-to-scf %s
// RUN: not nn-opt --convert-loop-to-scf %s 2>&1 | filecheck %s

// CHECK: hint: run --lower-blocks first

func.func @block(%x: memref<4xf32>) {
  loop.for %i = 0 to 4 {
    // expected-error@+1 {{loop.block: --convert-loop-to-scf has no rule for this operation}}
    loop.block "b" (%a = %i : par 4) {
    }
  }
  func.return
}
