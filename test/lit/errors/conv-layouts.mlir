// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32> {
  // expected-error@+1 {{graph.conv: has an algorithm and no layout, expected a blocked convolution}}
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 algorithm "winograd2" : (tensor<1x3x4x4xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// -----

func.func @f(%x: tensor<1x1x4x4x16xf32>, %w: tensor<4x4x1x1x16x16xf32>) -> tensor<1x1x4x4x16xf32> {
  // expected-error@+1 {{graph.conv: algorithm is 'fft', expected one of winograd2, winograd4}}
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" algorithm "fft" : (tensor<1x1x4x4x16xf32>, tensor<4x4x1x1x16x16xf32>) -> tensor<1x1x4x4x16xf32>
  func.return %y : tensor<1x1x4x4x16xf32>
}

// -----

func.func @f(%x: tensor<1x1x4x4x16xf32>, %w: tensor<4x4x1x1x16x16xf32>) -> tensor<1x1x2x2x16xf32> {
  // expected-error@+1 {{graph.conv: has strides [2, 2], dilations [1, 1], group 1, expected all of them 1 for F(2, 3)}}
  %y = graph.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" algorithm "winograd2" : (tensor<1x1x4x4x16xf32>, tensor<4x4x1x1x16x16xf32>) -> tensor<1x1x2x2x16xf32>
  func.return %y : tensor<1x1x2x2x16xf32>
}

// -----

func.func @f(%x: tensor<1x1x4x4x16xf32>, %w: tensor<1x1x3x3x16x16xf32>) -> tensor<1x1x4x4x16xf32> {
  // expected-error@+1 {{graph.conv: input layout 'NCHW16c4c' has 2 blocks, expected 1}}
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c4c" weight_layout "OIHW16i16o" : (tensor<1x1x4x4x16xf32>, tensor<1x1x3x3x16x16xf32>) -> tensor<1x1x4x4x16xf32>
  func.return %y : tensor<1x1x4x4x16xf32>
}
