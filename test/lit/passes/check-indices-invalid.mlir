// RUN: nn-opt --check-indices --split-input-file --verify-diagnostics %s

func.func @main(%x: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %i = graph.constant dense<[-3, 3]> : tensor<2xi64>
  // expected-error@+1 {{graph.gather: index 3 is out of range, expected -3 to 2}}
  %y = graph.gather %x, %i axis 0 : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<3x4xf32>, %u: tensor<1xf32>) -> tensor<3x4xf32> {
  %i = graph.constant dense<[[2, -5]]> : tensor<1x2xi64>
  // expected-error@+1 {{graph.scatter_nd: index -5 is out of range, expected -4 to 3}}
  %y = graph.scatter_nd %x, %i, %u reduction "none" : (tensor<3x4xf32>, tensor<1x2xi64>, tensor<1xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @main(%x: tensor<0x4xf32>) -> tensor<1x4xf32> {
  %i = graph.constant dense<0> : tensor<1xi64>
  // expected-error@+1 {{graph.gather: index 0 is for an axis of size 0}}
  %y = graph.gather %x, %i axis 0 : (tensor<0x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// -----

func.func @main(%x: tensor<0x4xf32>, %i: tensor<1xi64>) -> tensor<1x4xf32> {
  // expected-error@+1 {{graph.gather: indices name places on an axis of size 0}}
  %y = graph.gather %x, %i axis 0 : (tensor<0x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
