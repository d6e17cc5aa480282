// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = tensor.compute "c" (%i: 8) : tensor<8xf32> {
    // expected-error@+1 {{an index multiplies or divides values, expected one value and a constant}}
    %a = tensor.read %x[%i * %i] : tensor<8xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<8xf32>
}

// -----

func.func @f() {
  loop.for %i = 0 to 8 {
    // expected-error@+1 {{an index multiplies or divides values, expected one value and a constant}}
    %a = loop.apply %i floordiv %i
  }
  func.return
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = tensor.compute "c" (%i: 8) : tensor<8xf32> {
    // expected-error@+1 {{an index divides by 0, expected at least 1}}
    %a = tensor.read %x[%i mod 0] : tensor<8xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<8xf32>
}

// -----

func.func @f() {
  loop.for %i = 0 to 8 {
    // expected-error@+1 {{an index divides by -2, expected at least 1}}
    %a = loop.apply %i floordiv -2
  }
  func.return
}
