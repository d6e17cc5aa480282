// RUN: nn-opt --unfold-conv-transpose %s | filecheck %s

// CHECK-LABEL: @four_filters_a_channel
func.func @four_filters_a_channel(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32> {
  // CHECK:      %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}1.000000e+00]]], {{\[\[\[}}2.000000e+00]]], {{\[\[\[}}3.000000e+00]]], {{\[\[\[}}4.000000e+00]]]]> : tensor<4x1x1x1xf32>
  // CHECK-NEXT: %[[C:.*]] = graph.conv %x, %[[W]] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x2x2xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x2x2xf32>
  // CHECK-NEXT: %[[S:.*]] = graph.reshape %[[C]] : (tensor<1x4x2x2xf32>) -> tensor<1x1x2x2x1x2x2xf32>
  // CHECK-NEXT: %[[T:.*]] = graph.transpose %[[S]] perm [0, 1, 4, 5, 2, 6, 3]
  // CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[T]] : (tensor<1x1x1x2x2x2x2xf32>) -> tensor<1x1x4x4xf32>
  // CHECK-NEXT: func.return %[[Y]]
  %w = graph.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %y = graph.conv_transpose %x, %w strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] group 1 output_padding [0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  func.return %y : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: @pads_are_cropped_off
func.func @pads_are_cropped_off(%x: tensor<1x1x4xf32>) -> tensor<1x1x8xf32> {
  // Taps that reach an even place: the second and the last; an odd one: the first and the third.
  // CHECK:      graph.constant dense<{{\[\[\[}}3.000000e+00, 1.000000e+00]], {{\[\[}}4.000000e+00, 2.000000e+00]]]> : tensor<2x1x2xf32>
  // CHECK:      graph.conv %{{.*}} strides [1] pads [1, 1] {{.*}} -> tensor<1x2x5xf32>
  // CHECK:      graph.slice %{{.*}} starts [0, 0, 1] sizes [1, 1, 8] steps [1, 1, 1] : (tensor<1x1x10xf32>) -> tensor<1x1x8xf32>
  %w = graph.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
  %y = graph.conv_transpose %x, %w strides [2] pads [1, 1] dilations [1] group 1 output_padding [0] : (tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> tensor<1x1x8xf32>
  func.return %y : tensor<1x1x8xf32>
}

// CHECK-LABEL: @weights_known_at_run_time_stay
func.func @weights_known_at_run_time_stay(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32> {
  // CHECK: graph.conv_transpose
  %y = graph.conv_transpose %x, %w strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] group 1 output_padding [0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  func.return %y : tensor<1x1x4x4xf32>
}
