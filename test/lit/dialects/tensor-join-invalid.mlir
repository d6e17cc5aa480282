// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @lost_elements(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{tensor.join: joins 9 elements into 6}}
  %y = tensor.join %a, %b : tensor<2x3xf32>, tensor<1x3xf32> to tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

func.func @another_type(%a: tensor<2xf32>, %b: tensor<2xi32>) -> tensor<4xf32> {
  // expected-error@+1 {{tensor.join: joins i32 into f32}}
  %y = tensor.join %a, %b : tensor<2xf32>, tensor<2xi32> to tensor<4xf32>
  func.return %y : tensor<4xf32>
}
