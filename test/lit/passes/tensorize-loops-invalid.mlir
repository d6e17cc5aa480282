// RUN: nn-opt --split-input-file --verify-diagnostics --tensorize-loops %s

func.func @unknown(%y: memref<16xf32>) {
  // expected-error@+1 {{loop.for: no intrinsic is named "dot"}}
  loop.for %l = 0 to 16 vector attributes {intrinsic = "dot"} {
  }
  func.return
}

// -----

func.func @tail(%x: memref<2xbf16>, %w: memref<16x2xbf16>, %y: memref<16xf32>) {
  // expected-error@+1 {{cannot become dot_bf16x2: its loops are %l of 16 x %k of 1, expected 16 x 2}}
  loop.for %l = 0 to 16 vector attributes {intrinsic = "dot_bf16x2"} {
    loop.for %k = 0 to 1 {
    }
  }
  func.return
}
