// RUN: nn-opt --split-input-file --verify-diagnostics %s

func.func @result_shape(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+1 {{graph.conv: result shape is [1, 1, 4, 4], expected [1, 1, 2, 2]}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  func.return
}

// -----

func.func @result_element_type(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{graph.less: result element type is f32, expected i1}}
  %z = graph.less %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @channels(%x: tensor<1x3x4x4xf32>, %w: tensor<2x2x3x3xf32>) {
  // expected-error@+1 {{input has 3 channels but the filter expects 2 (2 in 1 group(s))}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x3x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @groups(%x: tensor<1x4x4x4xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error@+1 {{3 output channels do not divide into 2 groups}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 : (tensor<1x4x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x2x2xf32>
  func.return
}

// -----

func.func @number_of_strides(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+1 {{has 1 strides, expected 2}}
  %y = graph.conv %x, %w strides [1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  func.return
}

// -----

func.func @number_of_pads(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+1 {{has 2 pads, expected 4}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  func.return
}

// -----

func.func @zero_stride(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+1 {{strides are [0, 1], expected all of them >= 1}}
  %y = graph.conv %x, %w strides [0, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  func.return
}

// -----

func.func @kernel_too_large(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x5x3xf32>) {
  // expected-error@+1 {{kernel 5 (dilation 1) does not fit 4 plus (0, 0)}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<1x1x5x3xf32>) -> tensor<1x1x0x2xf32>
  func.return
}

// -----

func.func @bias(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{bias has shape [3], expected [2]}}
  %y = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<2x1x3x3xf32>, tensor<3xf32>) -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @one_layout(%x: tensor<1x1x4x4x16xf32>, %w: tensor<1x1x3x3x16x16xf32>) {
  // expected-error@+1 {{has one of layout and weight_layout, expected both or none}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" : (tensor<1x1x4x4x16xf32>, tensor<1x1x3x3x16x16xf32>) -> tensor<1x1x2x2x16xf32>
  func.return
}

// -----

func.func @blocks_differ(%x: tensor<1x1x4x4x8xf32>, %w: tensor<1x1x3x3x16x16xf32>) {
  // expected-error@+1 {{input blocks are 8, expected 16 as in 'OIHW16i16o'}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW8c" weight_layout "OIHW16i16o" : (tensor<1x1x4x4x8xf32>, tensor<1x1x3x3x16x16xf32>) -> tensor<1x1x2x2x16xf32>
  func.return
}

// -----

func.func @result_blocks_differ(%x: tensor<1x1x4x4x16xf32>, %w: tensor<1x1x3x3x16x8xf32>) {
  // expected-error@+1 {{result blocks are 16, expected 8 as in 'OIHW16i8o'}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i8o" : (tensor<1x1x4x4x16xf32>, tensor<1x1x3x3x16x8xf32>) -> tensor<1x1x2x2x8xf32>
  func.return
}

// -----

func.func @blocked_bias(%x: tensor<1x1x4x4x16xf32>, %w: tensor<1x1x3x3x16x16xf32>, %b: tensor<16xf32>) {
  // expected-error@+1 {{a blocked convolution has a bias, expected none: use graph.add}}
  %y = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x1x4x4x16xf32>, tensor<1x1x3x3x16x16xf32>, tensor<16xf32>) -> tensor<1x1x2x2x16xf32>
  func.return
}

// -----

func.func @blocked_groups(%x: tensor<1x2x4x4x16xf32>, %w: tensor<1x1x3x3x16x16xf32>) {
  // expected-error@+1 {{a blocked conv takes group = 1, one channel a group (weights 'OIHW16o' with I = 1) or groups of whole blocks}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x2x4x4x16xf32>, tensor<1x1x3x3x16x16xf32>) -> tensor<1x1x2x2x16xf32>
  func.return
}

// -----

func.func @weight_layout(%x: tensor<1x1x4x4x16xf32>, %w: tensor<1x1x3x3x16x16xf32>) {
  // expected-error@+1 {{weight layout is 'HWIO16i16o', expected one like 'OIHW16i16o'}}
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "HWIO16i16o" : (tensor<1x1x4x4x16xf32>, tensor<1x1x3x3x16x16xf32>) -> tensor<1x1x2x2x16xf32>
  func.return
}

// -----

func.func @conv_transpose_padding(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+1 {{has 1 output_padding, expected 2}}
  %y = graph.conv_transpose %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 output_padding [0] : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x6x6xf32>
  func.return
}

// -----

func.func @conv_transpose_channels(%x: tensor<1x3x4x4xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+1 {{input has 3 channels, filter 1 in 1 group(s)}}
  %y = graph.conv_transpose %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 output_padding [0, 0] : (tensor<1x3x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x6x6xf32>
  func.return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{shapes [2, 3] and [4] do not broadcast: sizes [3, 4] do not broadcast}}
  %z = graph.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @mixed_elements(%x: tensor<3xf32>, %y: tensor<3xf16>) {
  // expected-error@+1 {{operand has element type f16, expected f32}}
  %z = graph.add %x, %y : (tensor<3xf32>, tensor<3xf16>) -> tensor<3xf32>
  func.return
}

// -----

func.func @float_only(%x: tensor<3xi32>) {
  // expected-error@+1 {{graph.exp: operand has element type i32, expected a float element type}}
  %y = graph.exp %x : tensor<3xi32>
  func.return
}

// -----

func.func @bool_only(%x: tensor<3xi32>) {
  // expected-error@+1 {{operand has element type i32, expected i1 elements}}
  %y = graph.not %x : tensor<3xi32>
  func.return
}

// -----

func.func @integer_only(%x: tensor<3xf32>) {
  // expected-error@+1 {{operand has element type f32, expected an integer element type}}
  %y = graph.shift %x, %x direction "left" : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @number_only(%x: tensor<3xi1>) {
  // expected-error@+1 {{operand has element type i1, expected a float or integer element type}}
  %y = graph.add %x, %x : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  func.return
}

// -----

func.func @choice(%x: tensor<3xf32>) {
  // expected-error@+1 {{kind is 'median', expected one of sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square}}
  %y = graph.reduce %x kind "median" axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @axis_range(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{axis 2 is not in [-2, 2)}}
  %y = graph.softmax %x axis 2 : tensor<3x4xf32>
  func.return
}

// -----

func.func @axis_twice(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{axes are [1, -1], expected distinct ones}}
  %y = graph.reduce %x kind "sum" axes [1, -1] : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @elements_kept(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{result shape [3, 5] has 15 elements, expected 12 as in [3, 4]}}
  %y = graph.reshape %x : (tensor<3x4xf32>) -> tensor<3x5xf32>
  func.return
}

// -----

func.func @permutation(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{perm [0, 0] is no permutation of 0..1}}
  %y = graph.transpose %x perm [0, 0] : (tensor<3x4xf32>) -> tensor<3x3xf32>
  func.return
}

// -----

func.func @expand(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{shape [3, 4] does not expand to [3, 8]}}
  %y = graph.expand %x : (tensor<3x4xf32>) -> tensor<3x8xf32>
  func.return
}

// -----

func.func @concat(%x: tensor<3x4xf32>, %y: tensor<2x3xf32>) {
  // expected-error@+1 {{sizes along axis 1 are [4, 3], expected equal ones}}
  %z = graph.concat %x, %y axis 0 : (tensor<3x4xf32>, tensor<2x3xf32>) -> tensor<5x4xf32>
  func.return
}

// -----

func.func @concat_rank(%x: tensor<3x4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{operand has rank 1, expected 2}}
  %z = graph.concat %x, %y axis 0 : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<5x4xf32>
  func.return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error@+1 {{axis 0 takes 3 elements from 1 by 2 out of 4, expected all of them inside}}
  %y = graph.slice %x starts [1] sizes [3] steps [2] : (tensor<4xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @pad(%x: tensor<4xf32>) {
  // expected-error@+1 {{pads [-3, -2] cut more than there is of [4]}}
  %y = graph.pad %x pads [-3, -2] mode "constant" : (tensor<4xf32>) -> tensor<1xf32>
  func.return
}

// -----

func.func @pad_value(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // expected-error@+1 {{value has shape [2], expected a scalar}}
  %y = graph.pad %x, %v pads [1, 1] mode "constant" : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  func.return
}

// -----

func.func @indices(%x: tensor<4xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{indices have element type f32, expected i32 or i64}}
  %y = graph.gather %x, %i axis 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @gather_elements(%x: tensor<4xf32>, %i: tensor<2x2xi64>) {
  // expected-error@+1 {{indices have rank 2, expected 1}}
  %y = graph.gather_elements %x, %i axis 0 : (tensor<4xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @gather_nd(%x: tensor<4x4xf32>, %i: tensor<2x3xi64>) {
  // expected-error@+1 {{index depth is 3, expected 1 to 2}}
  %y = graph.gather_nd %x, %i batch_dims 0 : (tensor<4x4xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  func.return
}

// -----

func.func @gather_nd_batch(%x: tensor<4x4xf32>, %i: tensor<2x1xi64>) {
  // expected-error@+1 {{batch sizes are [4] and [2], expected equal ones}}
  %y = graph.gather_nd %x, %i batch_dims 1 : (tensor<4x4xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  func.return
}

// -----

func.func @scatter_nd(%x: tensor<4x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2x3xf32>) {
  // expected-error@+1 {{updates have shape [2, 3], expected [2, 4]}}
  %y = graph.scatter_nd %x, %i, %u reduction "none" : (tensor<4x4xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

func.func @tile(%x: tensor<4xf32>) {
  // expected-error@+1 {{repeats are [-1], expected all of them >= 0}}
  %y = graph.tile %x repeats [-1] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @matmul(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{inner sizes are 3 and 4, expected equal ones}}
  %c = graph.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @packed_matmul(%a: tensor<2x3xf32>, %b: tensor<2x3x2xf32>) {
  // expected-error@+1 {{weight layout is 'IO2o', expected one of axes K and N}}
  %c = graph.matmul %a, %b weight_layout "IO2o" : (tensor<2x3xf32>, tensor<2x3x2xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @batch_norm(%x: tensor<1x2x4xf32>, %p: tensor<2xf32>, %q: tensor<3xf32>) {
  // expected-error@+1 {{mean has shape [3], expected [2]}}
  %y = graph.batch_norm %x, %p, %p, %q, %p epsilon 1.0e-05 : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

func.func @clip_bound(%x: tensor<4xf32>, %l: tensor<2xf32>) {
  // expected-error@+1 {{a bound has shape [2], expected a scalar}}
  %y = graph.clip %x low %l : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @pool_p(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{has p without kind "lp" or the other way round}}
  %y = graph.pool %x kind "lp" kernel [2] strides [2] pads [0, 0] dilations [1] : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  func.return
}

// -----

func.func @pool_layout(%x: tensor<1x4x4x1x16xf32>) {
  // expected-error@+1 {{input layout is 'NHWC16c', expected one like 'NCHW' or 'NCHW16c'}}
  %y = graph.pool %x kind "max" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout "NHWC16c" : (tensor<1x4x4x1x16xf32>) -> tensor<1x2x2x1x16xf32>
  func.return
}

// -----

func.func @resize_scales(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{has 1 scales, expected 3}}
  %y = graph.resize %x mode "nearest" coordinate "asymmetric" nearest_mode "floor" scales [2.0] cubic_coeff -0.75 extrapolation 0.0 : (tensor<1x1x4xf32>) -> tensor<1x1x8xf32>
  func.return
}

// -----

func.func @resize_roi(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{has 0 roi numbers, expected 6}}
  %y = graph.resize %x mode "nearest" coordinate "tf_crop_and_resize" nearest_mode "floor" scales [1.0, 1.0, 2.0] cubic_coeff -0.75 extrapolation 0.0 : (tensor<1x1x4xf32>) -> tensor<1x1x8xf32>
  func.return
}

// -----

func.func @layout_text(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{layout is 'nchw', expected letters then blocks, as in 'NCHW16c'}}
  %y = graph.layout_transform %x from "NCW" to "nchw" sizes [1, 1, 4] : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  func.return
}

// -----

func.func @layout_twice(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{layout 'NCC' names an axis twice or blocks one that it lacks}}
  %y = graph.layout_transform %x from "NCW" to "NCC" sizes [1, 1, 4] : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  func.return
}

// -----

func.func @layout_letters(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{layouts are 'NCW' and 'NCH', expected the same letters}}
  %y = graph.layout_transform %x from "NCW" to "NCH" sizes [1, 1, 4] : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  func.return
}

// -----

func.func @layout_sizes(%x: tensor<1x20x4xf32>) {
  // expected-error@+1 {{input shape is [1, 20, 4], expected [1, 19, 4]: NCW of logical sizes [1, 19, 4]}}
  %y = graph.layout_transform %x from "NCW" to "NCW16c" sizes [1, 19, 4] : (tensor<1x20x4xf32>) -> tensor<1x2x4x16xf32>
  func.return
}

// -----

func.func @layout_blocks(%x: tensor<1x2x4x8xf32>) {
  // expected-error@+1 {{inner blocks are [8], expected [16]}}
  %y = graph.layout_transform %x from "NCW16c" to "NCW" sizes [1, 20, 4] : (tensor<1x2x4x8xf32>) -> tensor<1x20x4xf32>
  func.return
}

// -----

func.func @constant_type() {
  // expected-error@+1 {{result type is tensor<3xf32>, expected tensor<2xf32>}}
  %c = "graph.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}

// -----

func.func @constant_value() {
  // expected-error@+1 {{value is "text", expected dense<...> or #graph.resource<...>}}
  %c = graph.constant "text" : tensor<3xf32>
  func.return
}

// -----

func.func @unknown_field(%x: tensor<4xf32>) {
  // expected-error@+1 {{graph.leaky_relu has no field 'beta'; its fields: alpha}}
  %y = graph.leaky_relu %x beta 0.1 : tensor<4xf32>
  func.return
}

// -----

func.func @fused_yield(%x: tensor<4xf32>) {
  // expected-error@+1 {{body yields (tensor<4xf32>), expected (tensor<4xf16>)}}
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf16>) {
    graph.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @fused_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{body takes (tensor<3xf32>), expected (tensor<4xf32>)}}
  %y = "graph.fused"(%x) ({
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  }) : (tensor<4xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @fused_is_isolated(%x: tensor<4xf32>) {
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    // expected-error@+1 {{operand #0 (%x) comes from outside of graph.fused}}
    graph.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

func.func @scan_length(%x: tensor<4x2xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{scanned tensors have lengths [4, 5] along axis 0, expected one length}}
  %z = graph.scan () over (%a = %x : tensor<4x2xf32>, %b = %y : tensor<5xf32>) -> (tensor<4x2xf32>) {
    graph.yield %a : tensor<2xf32>
  }
  func.return
}

// -----

func.func @scan_nothing(%x: tensor<4xf32>) {
  // expected-error@+1 {{has 1 states of 1 operands, expected fewer}}
  %z = graph.scan (%a = %x : tensor<4xf32>) over () -> (tensor<4xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @scan_state(%s: tensor<2xf32>, %x: tensor<4x3xf32>) {
  // expected-error@+1 {{body's next states are (tensor<3xf32>), expected (tensor<2xf32>)}}
  %z = graph.scan (%a = %s : tensor<2xf32>) over (%b = %x : tensor<4x3xf32>) -> (tensor<3xf32>) {
    graph.yield %b : tensor<3xf32>
  }
  func.return
}

// -----

func.func @scan_results(%s: tensor<2xf32>, %x: tensor<4x3xf32>) {
  // expected-error@+1 {{result types are (tensor<2xf32>, tensor<3xf32>), expected (tensor<2xf32>, tensor<4x3xf32>)}}
  %z, %ys = graph.scan (%a = %s : tensor<2xf32>) over (%b = %x : tensor<4x3xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
    graph.yield %a, %b : tensor<2xf32>, tensor<3xf32>
  }
  func.return
}

// -----

func.func @winograd_weights(%w: tensor<3x2x5x5xf32>) {
  // expected-error@+1 {{weights have shape [3, 2, 5, 5], expected [F, C, 3, 3, ...]}}
  %u = graph.winograd_weights %w tile 4 : (tensor<3x2x5x5xf32>) -> tensor<6x6x3x2xf32>
  func.return
}

// -----

func.func @winograd_conv(%x: tensor<1x2x9x7x16xf32>, %w: tensor<3x2x3x3x16x16xf32>) {
  // expected-error@+1 {{weights have shape [3, 2, 3, 3, 16, 16], expected [6, 6, F, C, ...] as from graph.winograd_weights}}
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" algorithm "winograd4" : (tensor<1x2x9x7x16xf32>, tensor<3x2x3x3x16x16xf32>) -> tensor<1x3x9x7x16xf32>
  func.return
}

// -----

func.func @cast_mode(%x: tensor<4xf32>) {
  // expected-error@+1 {{graph.cast: round_mode is 'sideways', expected one of down, nearest}}
  %y = graph.cast %x round_mode "sideways" : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  func.return
}

// -----

func.func @bitcast_widths(%x: tensor<4xf32>) {
  // expected-error@+1 {{graph.bitcast: f32 and i16 have different numbers of bits}}
  %y = graph.bitcast %x : (tensor<4xf32>) -> tensor<4xi16>
  func.return
}

// -----

func.func @dequantize_axis(%w: tensor<8x2xi4>, %s: tensor<2x2xf32>) {
  // expected-error@+1 {{graph.dequantize: axis 2 in blocks of 4 is none of [8, 2]}}
  %y = graph.dequantize %w, %s axis 2 block 4 : (tensor<8x2xi4>, tensor<2x2xf32>) -> tensor<8x2xf32>
  func.return
}

// -----

func.func @dequantize_scale(%w: tensor<8x2xi4>, %s: tensor<3x2xf32>) {
  // expected-error@+1 {{graph.dequantize: scale has shape [3, 2], expected [2, 2] or 1 for a size}}
  %y = graph.dequantize %w, %s axis 0 block 4 : (tensor<8x2xi4>, tensor<3x2xf32>) -> tensor<8x2xf32>
  func.return
}

// -----

func.func @block_matmul_bits(%a: tensor<3x8xf32>, %w: tensor<4x2xui8>, %s: tensor<2x2xf32>) {
  // expected-error@+1 {{graph.block_matmul: bits is 3, expected 2, 4 or 8}}
  %y = graph.block_matmul %a, %w, %s block 4 bits 3 : (tensor<3x8xf32>, tensor<4x2xui8>, tensor<2x2xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @block_matmul_blocks(%a: tensor<3x8xf32>, %w: tensor<4x2xui8>, %s: tensor<2x2xf32>) {
  // expected-error@+1 {{graph.block_matmul: blocks of 3 numbers, expected whole ones of 4 rows of bytes}}
  %y = graph.block_matmul %a, %w, %s block 3 bits 4 : (tensor<3x8xf32>, tensor<4x2xui8>, tensor<2x2xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @block_matmul_weights(%a: tensor<3x8xf32>, %w: tensor<4x2xi8>, %s: tensor<2x2xf32>) {
  // expected-error@+1 {{graph.block_matmul: w has element type i8, expected ui8}}
  %y = graph.block_matmul %a, %w, %s block 4 bits 4 : (tensor<3x8xf32>, tensor<4x2xi8>, tensor<2x2xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @block_matmul_panels(%a: tensor<3x8xf32>, %w: tensor<1x2x2xui8>, %s: tensor<1x1x2xf32>) {
  // expected-error@+1 {{graph.block_matmul: w has element type ui8, expected ui32}}
  %y = graph.block_matmul %a, %w, %s block 8 bits 4 : (tensor<3x8xf32>, tensor<1x2x2xui8>, tensor<1x1x2xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @block_matmul_words(%a: tensor<3x8xf32>, %w: tensor<1x1x2xui32>, %s: tensor<1x2x2xf32>) {
  // expected-error@+1 {{graph.block_matmul: blocks of 4 numbers, expected whole ones of 1 rows of words}}
  %y = graph.block_matmul %a, %w, %s block 4 bits 4 : (tensor<3x8xf32>, tensor<1x1x2xui32>, tensor<1x2x2xf32>) -> tensor<3x2xf32>
  func.return
}
