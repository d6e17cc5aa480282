// RUN: nn-opt --canonicalize --split-input-file %s | filecheck %s

// CHECK-LABEL: @what_moves_nothing_goes
func.func @what_moves_nothing_goes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: func.return %x
  %a = graph.reshape %x : tensor<2x3xf32>
  %b = graph.transpose %a perm [0, 1] : tensor<2x3xf32>
  %c = graph.expand %b : tensor<2x3xf32>
  %d = graph.slice %c starts [0, 0] sizes [2, 3] steps [1, 1] : tensor<2x3xf32>
  %e = graph.pad %d pads [0, 0, 0, 0] mode "constant" : tensor<2x3xf32>
  %f = graph.cast %e : tensor<2x3xf32>
  %g = graph.concat %f axis 0 : tensor<2x3xf32>
  %h = graph.tile %g repeats [1, 1] : tensor<2x3xf32>
  %i = graph.clip %h : tensor<2x3xf32>
  func.return %i : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @what_moves_something_of_the_same_type_stays
func.func @what_moves_something_of_the_same_type_stays(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: graph.slice
  // CHECK-NEXT: graph.pad
  %a = graph.transpose %x perm [1, 0] : tensor<2x2xf32>
  %b = graph.slice %a starts [1, 0] sizes [2, 2] steps [-1, 1] : tensor<2x2xf32>
  %c = graph.pad %b pads [1, 0, -1, 0] mode "constant" : tensor<2x2xf32>
  func.return %c : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @moves_merge
func.func @moves_merge(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<4x3x2xf32>, tensor<5x2x3x4xf32>) {
  // CHECK-DAG: graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<24xf32>
  // CHECK-DAG: graph.transpose %x perm [2, 1, 0]
  // CHECK-DAG: graph.expand %x : (tensor<2x3x4xf32>) -> tensor<5x2x3x4xf32>
  // CHECK-NOT: graph.
  %a = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %b = graph.reshape %a : (tensor<6x4xf32>) -> tensor<24xf32>
  %c = graph.transpose %x perm [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %d = graph.transpose %c perm [1, 0, 2] : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  %e = graph.expand %x : (tensor<2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %f = graph.expand %e : (tensor<1x2x3x4xf32>) -> tensor<5x2x3x4xf32>
  func.return %b, %d, %f : tensor<24xf32>, tensor<4x3x2xf32>, tensor<5x2x3x4xf32>
}

// -----

// CHECK-LABEL: @a_transpose_of_unit_axes_is_a_view
func.func @a_transpose_of_unit_axes_is_a_view(%x: tensor<1x3x4xf32>) -> tensor<3x1x4xf32> {
  // CHECK-NEXT: graph.reshape %x
  %a = graph.transpose %x perm [1, 0, 2] : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
  func.return %a : tensor<3x1x4xf32>
}

// -----

// CHECK-LABEL: @an_expanded_operand_broadcasts_by_itself
func.func @an_expanded_operand_broadcasts_by_itself(%x: tensor<1x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: graph.add %x, %y
  %a = graph.expand %x : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %b = graph.add %a, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %b : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @an_expansion_that_shapes_the_result_stays
func.func @an_expansion_that_shapes_the_result_stays(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: graph.expand
  %a = graph.expand %x : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %b = graph.add %a, %y : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  func.return %b : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @zeros_around_an_image_become_pads_of_the_convolution
func.func @zeros_around_an_image_become_pads_of_the_convolution(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x5x4xf32> {
  // CHECK-NEXT: graph.conv %x, %w strides [1, 1] pads [1, 1, 2, 1]
  %p = graph.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] mode "constant" : (tensor<1x1x4x4xf32>) -> tensor<1x1x6x6xf32>
  %y = graph.conv %p, %w strides [1, 1] pads [0, 0, 1, 0] dilations [1, 1] group 1 : (tensor<1x1x6x6xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x5x4xf32>
  func.return %y : tensor<1x1x5x4xf32>
}

// -----

// CHECK-LABEL: @ones_or_cut_borders_stay_pads
func.func @ones_or_cut_borders_stay_pads(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>) -> (tensor<1x1x6x6xf32>, tensor<1x1x2x2xf32>, tensor<1x1x6x6xf32>) {
  // CHECK: graph.pad
  // CHECK: graph.pad
  // CHECK: graph.pad
  %one = graph.constant dense<1.0> : tensor<f32>
  %p = graph.pad %x, %one pads [0, 0, 1, 1, 0, 0, 1, 1] mode "constant" : (tensor<1x1x4x4xf32>, tensor<f32>) -> tensor<1x1x6x6xf32>
  %a = graph.conv %p, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x6x6xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x6x6xf32>
  %q = graph.pad %x pads [0, 0, -1, -1, 0, 0, -1, -1] mode "constant" : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  %b = graph.conv %q, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %r = graph.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] mode "edge" : (tensor<1x1x4x4xf32>) -> tensor<1x1x6x6xf32>
  %c = graph.conv %r, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x6x6xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x6x6xf32>
  func.return %a, %b, %c : tensor<1x1x6x6xf32>, tensor<1x1x2x2xf32>, tensor<1x1x6x6xf32>
}

// -----

// CHECK-LABEL: @twice_is_nothing_or_once
func.func @twice_is_nothing_or_once(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[R:.*]] = graph.relu %x
  // CHECK-NEXT: func.return %x, %[[R]]
  %a = graph.neg %x : tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32>
  %c = graph.relu %x : tensor<4xf32>
  %d = graph.relu %c : tensor<4xf32>
  func.return %b, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @neutral_constants_go
func.func @neutral_constants_go(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: func.return %x
  %one = graph.constant dense<1.0> : tensor<f32>
  %ones = graph.constant dense<1.0> : tensor<4xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %minus = graph.constant dense<-0.0> : tensor<f32>
  %a = graph.mul %one, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.div %a, %ones : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.sub %b, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = graph.add %c, %minus : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = graph.pow %d, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// -----

// x + 0.0 turns -0.0 into 0.0, 1 / x and 0 - x compute, and a constant may broaden x.
// CHECK-LABEL: @what_changes_a_value_stays
func.func @what_changes_a_value_stays(%x: tensor<1xf32>) -> (tensor<1xf32>, tensor<4xf32>) {
  // CHECK: graph.add
  // CHECK: graph.div
  // CHECK: graph.sub
  // CHECK: graph.mul
  %one = graph.constant dense<1.0> : tensor<f32>
  %ones = graph.constant dense<1.0> : tensor<4xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %a = graph.add %x, %zero : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %b = graph.div %one, %a : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %c = graph.sub %zero, %b : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %d = graph.mul %x, %ones : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %d : tensor<1xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @a_square_is_a_product
func.func @a_square_is_a_product(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.mul %x, %x
  %two = graph.constant dense<2.0> : tensor<f32>
  %a = graph.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

// CHECK-LABEL: @a_choice_that_is_known_goes
func.func @a_choice_that_is_known_goes(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[W:.*]] = graph.where %c, %x, %y
  // CHECK-NEXT: func.return %y, %x, %[[W]]
  %no = graph.constant dense<false> : tensor<i1>
  %a = graph.where %no, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.where %c, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = graph.where %c, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @layout_transforms_cancel
func.func @layout_transforms_cancel(%x: tensor<1x24x2x2xf32>, %y: tensor<1x2x2x2x16xf32>) -> (tensor<1x24x2x2xf32>, tensor<1x2x2x2x16xf32>) {
  // CHECK-NEXT: func.return %x, %y
  %a = graph.layout_transform %x from "NCHW" to "NCHW16c" sizes [1, 24, 2, 2] : (tensor<1x24x2x2xf32>) -> tensor<1x2x2x2x16xf32>
  %b = graph.layout_transform %a from "NCHW16c" to "NCHW" sizes [1, 24, 2, 2] : (tensor<1x2x2x2x16xf32>) -> tensor<1x24x2x2xf32>
  %c = graph.layout_transform %y from "NCHW16c" to "NCHW" sizes [1, 32, 2, 2] : (tensor<1x2x2x2x16xf32>) -> tensor<1x32x2x2xf32>
  %d = graph.layout_transform %c from "NCHW" to "NCHW16c" sizes [1, 32, 2, 2] : (tensor<1x32x2x2xf32>) -> tensor<1x2x2x2x16xf32>
  func.return %b, %d : tensor<1x24x2x2xf32>, tensor<1x2x2x2x16xf32>
}

// -----

// CHECK-LABEL: @a_pair_that_clears_lanes_stays
func.func @a_pair_that_clears_lanes_stays(%y: tensor<1x2x2x2x16xf32>) -> tensor<1x2x2x2x16xf32> {
  // CHECK: graph.layout_transform
  // CHECK: graph.layout_transform
  %c = graph.layout_transform %y from "NCHW16c" to "NCHW" sizes [1, 24, 2, 2] : (tensor<1x2x2x2x16xf32>) -> tensor<1x24x2x2xf32>
  %d = graph.layout_transform %c from "NCHW" to "NCHW16c" sizes [1, 24, 2, 2] : (tensor<1x24x2x2xf32>) -> tensor<1x2x2x2x16xf32>
  func.return %d : tensor<1x2x2x2x16xf32>
}

// -----

// CHECK-LABEL: @a_layout_transform_of_one_pixel_is_a_view
func.func @a_layout_transform_of_one_pixel_is_a_view(%x: tensor<1x2x1x1x16xf32>, %y: tensor<1x2x1x2x16xf32>) -> (tensor<1x32x1x1xf32>, tensor<1x32x1x2xf32>) {
  // CHECK-NEXT: graph.reshape %x
  // CHECK-NEXT: graph.layout_transform %y
  %a = graph.layout_transform %x from "NCHW16c" to "NCHW" sizes [1, 32, 1, 1] : (tensor<1x2x1x1x16xf32>) -> tensor<1x32x1x1xf32>
  %b = graph.layout_transform %y from "NCHW16c" to "NCHW" sizes [1, 32, 1, 2] : (tensor<1x2x1x2x16xf32>) -> tensor<1x32x1x2xf32>
  func.return %a, %b : tensor<1x32x1x1xf32>, tensor<1x32x1x2xf32>
}

// -----

// A convolution that pads with 3 takes in a pad by 3, and none by 0.
// CHECK-LABEL: @filled
// CHECK:       %[[P:.*]] = graph.pad %x
// CHECK-NEXT:  graph.conv %[[P]], %w {{.*}} pads [0, 0, 0, 0]
// CHECK-NEXT:  graph.conv %x, %w {{.*}} pads [1, 1, 1, 1] {{.*}} wide fill 3
func.func @filled(%x: tensor<1x4x6x6xui8>, %w: tensor<8x4x3x3xi8>) -> (tensor<1x8x6x6xi32>, tensor<1x8x6x6xi32>) {
  %three = graph.constant dense<3> : tensor<ui8>
  %p = graph.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] mode "constant" : (tensor<1x4x6x6xui8>) -> tensor<1x4x8x8xui8>
  %y = graph.conv %p, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 wide fill 3 : (tensor<1x4x8x8xui8>, tensor<8x4x3x3xi8>) -> tensor<1x8x6x6xi32>
  %q = graph.pad %x, %three pads [0, 0, 1, 1, 0, 0, 1, 1] mode "constant" : (tensor<1x4x6x6xui8>, tensor<ui8>) -> tensor<1x4x8x8xui8>
  %z = graph.conv %q, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 wide fill 3 : (tensor<1x4x8x8xui8>, tensor<8x4x3x3xi8>) -> tensor<1x8x6x6xi32>
  func.return %y, %z : tensor<1x8x6x6xi32>, tensor<1x8x6x6xi32>
}
