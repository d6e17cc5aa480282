// RUN: nn-opt --choose-layout --split-input-file %s | filecheck %s
// RUN: nn-opt --choose-layout --split-input-file --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// The first convolution reads the plain image, the second the blocked one; weights are packed.
// REMARK: remark: graph.conv: blocked as NCHW16c: 2 convolutions gain {{.*}}, 1 layout transforms cost {{.*}} [choose-layout]
// CHECK-LABEL: @a_chain_of_convolutions_is_blocked
func.func @a_chain_of_convolutions_is_blocked(%x: tensor<1x3x32x32xf32>) -> tensor<1x32x30x30xf32> {
  // CHECK-DAG:  graph.layout_transform %w0 from "OIHW" to "OIHW16o"
  // CHECK-DAG:  graph.layout_transform %w1 from "OIHW" to "OIHW16i16o"
  // CHECK:      graph.conv %x, {{.*}} layout "NCHW->NCHW16c" weight_layout "OIHW16o" {{.*}} -> tensor<1x1x32x32x16xf32>
  // CHECK:      graph.relu {{.*}} : tensor<1x1x32x32x16xf32>
  // CHECK:      graph.conv {{.*}} layout "NCHW16c" weight_layout "OIHW16i16o" {{.*}} -> tensor<1x2x30x30x16xf32>
  // CHECK:      graph.layout_transform {{.*}} from "NCHW16c" to "NCHW" sizes [1, 32, 30, 30]
  // CHECK-NEXT: func.return
  %w0 = graph.constant #graph.resource<"a"> : tensor<16x3x3x3xf32>
  %w1 = graph.constant #graph.resource<"b"> : tensor<32x16x3x3xf32>
  %y = graph.conv %x, %w0 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x32x32xf32>
  %r = graph.relu %y : tensor<1x16x32x32xf32>
  %z = graph.conv %r, %w1 strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x16x32x32xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x30x30xf32>
  func.return %z : tensor<1x32x30x30xf32>
}

// -----

// CHECK-LABEL: @depthwise_bias_pool_and_mean_are_blocked
func.func @depthwise_bias_pool_and_mean_are_blocked(%x: tensor<1x32x32x32xf32>, %b: tensor<32xf32>) -> tensor<1x32xf32> {
  // CHECK:      graph.layout_transform %x from "NCHW" to "NCHW16c"
  // CHECK:      graph.conv {{.*}} group 32 layout "NCHW16c" weight_layout "OIHW16o"
  // CHECK:      graph.layout_transform %b from "C" to "C16c"
  // CHECK:      graph.reshape {{.*}} -> tensor<2x1x1x16xf32>
  // CHECK:      graph.add {{.*}} -> tensor<1x2x32x32x16xf32>
  // CHECK:      graph.conv {{.*}} layout "NCHW16c" weight_layout "OIHW16i16o"
  // CHECK:      graph.pool {{.*}} layout "NCHW16c" {{.*}} -> tensor<1x2x16x16x16xf32>
  // CHECK:      graph.reduce {{.*}} kind "mean" axes [2, 3] keepdims : {{.*}} -> tensor<1x2x1x1x16xf32>
  // CHECK:      graph.layout_transform {{.*}} -> tensor<1x32x1x1xf32>
  // CHECK:      graph.reshape {{.*}} -> tensor<1x32xf32>
  %w0 = graph.constant #graph.resource<"a"> : tensor<32x1x3x3xf32>
  %w1 = graph.constant #graph.resource<"b"> : tensor<32x32x3x3xf32>
  %y = graph.conv %x, %w0, %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 32 : (tensor<1x32x32x32xf32>, tensor<32x1x3x3xf32>, tensor<32xf32>) -> tensor<1x32x32x32xf32>
  %z = graph.conv %y, %w1 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x32x32x32xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x32x32xf32>
  %p = graph.pool %z kind "max" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x32x32x32xf32>) -> tensor<1x32x16x16xf32>
  %m = graph.reduce %p kind "mean" axes [2, 3] : (tensor<1x32x16x16xf32>) -> tensor<1x32xf32>
  func.return %m : tensor<1x32xf32>
}

// -----

// A per-channel factor and a per-pixel one, then a concatenation of whole blocks.
// CHECK-LABEL: @broadcast_operands_follow_and_concat_joins_blocks
func.func @broadcast_operands_follow_and_concat_joins_blocks(%x: tensor<1x16x32x32xf32>, %s: tensor<16x1x1xf32>, %m: tensor<1x1x32x32xf32>) -> tensor<1x32x32x32xf32> {
  // CHECK:      graph.reshape %s {{.*}} -> tensor<1x16x1x1xf32>
  // CHECK:      graph.layout_transform {{.*}} -> tensor<1x1x1x1x16xf32>
  // CHECK:      graph.mul
  // CHECK:      graph.reshape %m {{.*}} -> tensor<1x1x32x32x1xf32>
  // CHECK:      graph.mul
  // CHECK:      graph.concat {{.*}} axis 1 : {{.*}} -> tensor<1x2x32x32x16xf32>
  // CHECK:      graph.layout_transform
  // CHECK-NOT:  graph.layout_transform
  %w = graph.constant #graph.resource<"a"> : tensor<16x16x3x3xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x16x32x32xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  %a = graph.mul %y, %s : (tensor<1x16x32x32xf32>, tensor<16x1x1xf32>) -> tensor<1x16x32x32xf32>
  %b = graph.mul %a, %m : (tensor<1x16x32x32xf32>, tensor<1x1x32x32xf32>) -> tensor<1x16x32x32xf32>
  %c = graph.concat %a, %b axis 1 : (tensor<1x16x32x32xf32>, tensor<1x16x32x32xf32>) -> tensor<1x32x32x32xf32>
  func.return %c : tensor<1x32x32x32xf32>
}

// -----

// The lanes that fill up 24 channels to 32 are zeros: exp makes them 1, log -inf, so both stay out.
// CHECK-LABEL: @exp_of_padded_lanes_stays_plain
func.func @exp_of_padded_lanes_stays_plain(%x: tensor<1x32x32x32xf32>) -> tensor<1x24x32x32xf32> {
  // CHECK:      graph.tanh {{.*}} : tensor<1x2x32x32x16xf32>
  // CHECK:      graph.layout_transform {{.*}} sizes [1, 24, 32, 32]
  // CHECK:      graph.exp {{.*}} : tensor<1x24x32x32xf32>
  %w = graph.constant #graph.resource<"a"> : tensor<24x32x3x3xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x32x32x32xf32>, tensor<24x32x3x3xf32>) -> tensor<1x24x32x32xf32>
  %t = graph.tanh %y : tensor<1x24x32x32xf32>
  %e = graph.exp %t : tensor<1x24x32x32xf32>
  func.return %e : tensor<1x24x32x32xf32>
}

// -----

// REMARK: remark: graph.conv: not worth NCHW16c: 1 convolutions gain {{.*}}, 2 layout transforms cost {{.*}} [choose-layout]
// CHECK-LABEL: @transforms_that_cost_more_than_they_gain_are_not_made
func.func @transforms_that_cost_more_than_they_gain_are_not_made(%x: tensor<1x32x64x64xf32>) -> tensor<1x32x64x64xf32> {
  // CHECK-NOT:  layout
  %w = graph.constant #graph.resource<"a"> : tensor<32x1x3x3xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 32 : (tensor<1x32x64x64xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x64x64xf32>
  func.return %y : tensor<1x32x64x64xf32>
}

// -----

// CHECK-LABEL: @groups_weights_of_run_time_and_one_filter_stay_plain
func.func @groups_weights_of_run_time_and_one_filter_stay_plain(%x: tensor<1x32x64x64xf32>, %v: tensor<32x32x3x3xf32>) -> (tensor<1x32x64x64xf32>, tensor<1x32x64x64xf32>, tensor<1x1x64x64xf32>) {
  // CHECK-NOT:  layout
  %g = graph.constant #graph.resource<"a"> : tensor<32x8x3x3xf32>
  %o = graph.constant #graph.resource<"b"> : tensor<1x32x3x3xf32>
  %a = graph.conv %x, %g strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 4 : (tensor<1x32x64x64xf32>, tensor<32x8x3x3xf32>) -> tensor<1x32x64x64xf32>
  %b = graph.conv %x, %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x32x64x64xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x64x64xf32>
  %c = graph.conv %x, %o strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x32x64x64xf32>, tensor<1x32x3x3xf32>) -> tensor<1x1x64x64xf32>
  func.return %a, %b, %c : tensor<1x32x64x64xf32>, tensor<1x32x64x64xf32>, tensor<1x1x64x64xf32>
}

// -----

// Eight lanes on a machine with 32-byte vectors.
// CHECK-LABEL: @the_target_sets_the_block
module attributes {nn.target = "x86-64-v3"} {
  func.func @the_target_sets_the_block(%x: tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32> {
    // CHECK: layout "NCHW8c" weight_layout "OIHW8i8o"
    %w = graph.constant #graph.resource<"a"> : tensor<16x16x3x3xf32>
    %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x16x32x32xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
    func.return %y : tensor<1x16x32x32xf32>
  }
}

// -----

// Half a block cannot be joined, channels cannot be reduced, cut or sampled where they lie.
// CHECK-LABEL: @ops_across_channels_read_the_plain_image
func.func @ops_across_channels_read_the_plain_image(%x: tensor<1x16x32x32xf32>) -> (tensor<1x48x32x32xf32>, tensor<1x1x32x32xf32>, tensor<1x25x32x32xf32>, tensor<1x24x64x64xf32>) {
  // CHECK:      %[[P:.*]] = graph.layout_transform {{.*}} sizes [1, 24, 32, 32]
  // CHECK:      graph.concat %[[P]], %[[P]]
  // CHECK:      graph.reduce %[[P]]
  // CHECK:      graph.pad %[[P]]
  // CHECK:      graph.resize %[[P]]
  %w = graph.constant #graph.resource<"a"> : tensor<24x16x3x3xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x16x32x32xf32>, tensor<24x16x3x3xf32>) -> tensor<1x24x32x32xf32>
  %c = graph.concat %y, %y axis 1 : (tensor<1x24x32x32xf32>, tensor<1x24x32x32xf32>) -> tensor<1x48x32x32xf32>
  %m = graph.reduce %y kind "mean" axes [1] keepdims : (tensor<1x24x32x32xf32>) -> tensor<1x1x32x32xf32>
  %p = graph.pad %y pads [0, 1, 0, 0, 0, 0, 0, 0] mode "constant" : (tensor<1x24x32x32xf32>) -> tensor<1x25x32x32xf32>
  %r = graph.resize %y mode "cubic" coordinate "half_pixel" nearest_mode "floor" scales [1.0, 1.0, 2.0, 2.0] cubic_coeff -0.75 extrapolation 0.0 : (tensor<1x24x32x32xf32>) -> tensor<1x24x64x64xf32>
  func.return %c, %m, %p, %r : tensor<1x48x32x32xf32>, tensor<1x1x32x32xf32>, tensor<1x25x32x32xf32>, tensor<1x24x64x64xf32>
}

// -----

// CHECK-LABEL: @one_and_three_dimensions_stay_plain
func.func @one_and_three_dimensions_stay_plain(%x: tensor<1x16x4096xf32>, %v: tensor<1x16x16x16x16xf32>) -> (tensor<1x16x4096xf32>, tensor<1x16x16x16x16xf32>) {
  // CHECK-NOT:  layout
  %w = graph.constant #graph.resource<"a"> : tensor<16x16x3xf32>
  %u = graph.constant #graph.resource<"b"> : tensor<16x16x1x1x1xf32>
  %y = graph.conv %x, %w strides [1] pads [1, 1] dilations [1] group 1 : (tensor<1x16x4096xf32>, tensor<16x16x3xf32>) -> tensor<1x16x4096xf32>
  %z = graph.conv %v, %u strides [1, 1, 1] pads [0, 0, 0, 0, 0, 0] dilations [1, 1, 1] group 1 : (tensor<1x16x16x16x16xf32>, tensor<16x16x1x1x1xf32>) -> tensor<1x16x16x16x16xf32>
  func.return %y, %z : tensor<1x16x4096xf32>, tensor<1x16x16x16x16xf32>
}
