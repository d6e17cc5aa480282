// RUN: nn-opt --fuse-ops --split-input-file %s | filecheck %s

// CHECK-LABEL: @parts_made_by_kernels_need_none_to_be_joined
func.func @parts_made_by_kernels_need_none_to_be_joined(%x: tensor<1x2x4xf32>) -> tensor<1x4x4xf32> {
  // CHECK:      %[[A:.*]] = graph.fused
  // CHECK-NEXT:   graph.relu
  // CHECK:      %[[B:.*]] = graph.fused
  // CHECK-NEXT:   graph.tanh
  // CHECK:      graph.concat %[[A]], %[[B]] axis 1
  %a = graph.relu %x : tensor<1x2x4xf32>
  %b = graph.tanh %x : tensor<1x2x4xf32>
  %y = graph.concat %a, %b axis 1 : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x4x4xf32>
  func.return %y : tensor<1x4x4xf32>
}

// -----

// CHECK-LABEL: @interleaved_parts_are_moved_by_a_kernel
func.func @interleaved_parts_are_moved_by_a_kernel(%x: tensor<2x2xf32>) -> tensor<2x4xf32> {
  // CHECK:      graph.fused
  // CHECK:        graph.concat
  %a = graph.relu %x : tensor<2x2xf32>
  %b = graph.tanh %x : tensor<2x2xf32>
  %y = graph.concat %a, %b axis 1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @an_argument_is_moved_by_a_kernel
func.func @an_argument_is_moved_by_a_kernel(%x: tensor<1x2xf32>) -> tensor<1x4xf32> {
  // CHECK:      graph.fused
  // CHECK:        graph.concat
  %a = graph.relu %x : tensor<1x2xf32>
  %y = graph.concat %a, %x axis 1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// -----

// CHECK-LABEL: @a_part_of_two_wholes_is_moved_by_kernels
func.func @a_part_of_two_wholes_is_moved_by_kernels(%x: tensor<1x2xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  // CHECK:      graph.fused
  // CHECK:      graph.fused
  // CHECK:      graph.fused
  // CHECK:        graph.concat
  %a = graph.exp %x : tensor<1x2xf32>
  %b = graph.tanh %x : tensor<1x2xf32>
  %y = graph.concat %a, %b axis 1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %z = graph.concat %b, %a axis 1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  func.return %y, %z : tensor<1x4xf32>, tensor<1x4xf32>
}
