// RUN: nn-opt --fold-scale-axis --dce --split-input-file %s | filecheck %s

// CHECK-LABEL: @scale_and_shift_go_into_a_convolution
func.func @scale_and_shift_go_into_a_convolution(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-DAG:  %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}6.000000e+00{{.*}}[{{\[\[}}2.000000e+01{{.*}}> : tensor<2x1x1x1xf32>
  // CHECK-DAG:  %[[B:.*]] = graph.constant dense<[2.100000e+01, 4.200000e+01]>
  // CHECK:      graph.conv %x, %[[W]], %[[B]]
  // CHECK-NEXT: func.return
  %w = graph.constant dense<[[[[3.0]]], [[[5.0]]]]> : tensor<2x1x1x1xf32>
  %b = graph.constant dense<[10.0, 10.0]> : tensor<2xf32>
  %s = graph.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %t = graph.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %y = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %m = graph.mul %y, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %a = graph.add %m, %t : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %a : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: @scale_goes_into_a_matmul
func.func @scale_goes_into_a_matmul(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // CHECK:      %[[W:.*]] = graph.constant dense<{{\[\[}}2.000000e+00, 8.000000e+00], [6.000000e+00, 1.600000e+01]]>
  // CHECK-NEXT: graph.matmul %x, %[[W]]
  // CHECK-NEXT: func.return
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = graph.mul %s, %y : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @second_reader_blocks_folding
func.func @second_reader_blocks_folding(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  // CHECK: graph.matmul
  // CHECK: graph.mul
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = graph.mul %s, %y : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m, %y : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @weights_of_run_time_block_folding
func.func @weights_of_run_time_block_folding(%x: tensor<3x2xf32>, %w: tensor<2x2xf32>) -> tensor<3x2xf32> {
  // CHECK: graph.mul
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = graph.mul %s, %y : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// -----

// A [2] constant runs along the width of an image, not along its channels.
// CHECK-LABEL: @another_axis_blocks_folding
func.func @another_axis_blocks_folding(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
  // CHECK: graph.mul
  %w = graph.constant dense<[[[[3.0]]], [[[5.0]]]]> : tensor<2x1x1x1xf32>
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %m = graph.mul %y, %s : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %m : tensor<1x2x2x2xf32>
}

// -----

// CHECK-LABEL: @one_addition_after_a_matmul_stays
func.func @one_addition_after_a_matmul_stays(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // CHECK: graph.matmul
  // CHECK: graph.add
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %t = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = graph.add %y, %t : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @overflow_of_a_weight_blocks_folding
func.func @overflow_of_a_weight_blocks_folding(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  // CHECK: graph.mul
  %w = graph.constant dense<[[1.0e30]]> : tensor<1x1xf32>
  %s = graph.constant dense<[1.0e30]> : tensor<1xf32>
  %y = graph.matmul %x, %w : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %m = graph.mul %y, %s : (tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  func.return %m : tensor<1x1xf32>
}

// -----

// CHECK-LABEL: @a_bias_of_run_time_blocks_folding
func.func @a_bias_of_run_time_blocks_folding(%x: tensor<1x1x2x2xf32>, %b: tensor<2xf32>) -> tensor<1x2x2x2xf32> {
  // CHECK: graph.mul
  %w = graph.constant dense<[[[[3.0]]], [[[5.0]]]]> : tensor<2x1x1x1xf32>
  %s = graph.constant dense<2.0> : tensor<f32>
  %y = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %m = graph.mul %y, %s : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  func.return %m : tensor<1x2x2x2xf32>
}

// -----

// CHECK-LABEL: @a_constant_that_broadens_the_result_blocks_folding
func.func @a_constant_that_broadens_the_result_blocks_folding(%x: tensor<1x2xf32>) -> tensor<3x2xf32> {
  // CHECK: graph.mul
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<2.0> : tensor<3x2xf32>
  %y = graph.matmul %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %m = graph.mul %y, %s : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @a_division_by_the_result_blocks_folding
func.func @a_division_by_the_result_blocks_folding(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // CHECK: graph.div
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = graph.div %s, %y : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @integers_are_left_alone
func.func @integers_are_left_alone(%x: tensor<3x2xi32>) -> tensor<3x2xi32> {
  // CHECK: graph.mul
  %w = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %s = graph.constant dense<[2, 4]> : tensor<2xi32>
  %y = graph.matmul %x, %w : (tensor<3x2xi32>, tensor<2x2xi32>) -> tensor<3x2xi32>
  %m = graph.mul %y, %s : (tensor<3x2xi32>, tensor<2xi32>) -> tensor<3x2xi32>
  func.return %m : tensor<3x2xi32>
}

// -----

// Weights of bf16 would lose digits that the sums have.
// CHECK-LABEL: @sums_wider_than_weights_stay
func.func @sums_wider_than_weights_stay(%x: tensor<3x2xbf16>) -> tensor<3x2xf32> {
  // CHECK: graph.matmul {{.*}} wide : (tensor<3x2xbf16>, tensor<2x2xbf16>) -> tensor<3x2xf32>
  // CHECK-NEXT: graph.mul
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.matmul %x, %w wide : (tensor<3x2xbf16>, tensor<2x2xbf16>) -> tensor<3x2xf32>
  %m = graph.mul %s, %y : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @wide_sums_by_wide_weights
func.func @wide_sums_by_wide_weights(%x: tensor<3x2xbf16>) -> tensor<3x2xf32> {
  // CHECK:      %[[W:.*]] = graph.constant dense<{{\[\[}}2.000000e+00, 8.000000e+00], [6.000000e+00, 1.600000e+01]]>
  // CHECK-NEXT: graph.matmul %x, %[[W]] wide : (tensor<3x2xbf16>, tensor<2x2xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: func.return
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = graph.matmul %x, %w wide : (tensor<3x2xbf16>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = graph.mul %s, %y : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}
