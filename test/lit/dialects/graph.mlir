// Every op of graph with every field, through the readable and the generic form.
// RUN: nn-opt %s | filecheck %s
// RUN: nn-opt --print-op-generic %s | nn-opt | filecheck %s

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<2x3xf32>) {
  // CHECK: graph.relu %x : tensor<2x3xf32>
  %r0 = graph.relu %x : tensor<2x3xf32>
  // CHECK: graph.neg %x : tensor<2x3xf32>
  %r1 = graph.neg %x : tensor<2x3xf32>
  // CHECK: graph.abs %x : tensor<2x3xf32>
  %r2 = graph.abs %x : tensor<2x3xf32>
  // CHECK: graph.exp %x : tensor<2x3xf32>
  %r3 = graph.exp %x : tensor<2x3xf32>
  // CHECK: graph.log %x : tensor<2x3xf32>
  %r4 = graph.log %x : tensor<2x3xf32>
  // CHECK: graph.sqrt %x : tensor<2x3xf32>
  %r5 = graph.sqrt %x : tensor<2x3xf32>
  // CHECK: graph.reciprocal %x : tensor<2x3xf32>
  %r6 = graph.reciprocal %x : tensor<2x3xf32>
  // CHECK: graph.tanh %x : tensor<2x3xf32>
  %r7 = graph.tanh %x : tensor<2x3xf32>
  // CHECK: graph.sigmoid %x : tensor<2x3xf32>
  %r8 = graph.sigmoid %x : tensor<2x3xf32>
  // CHECK: graph.erf %x : tensor<2x3xf32>
  %r9 = graph.erf %x : tensor<2x3xf32>
  // CHECK: graph.sin %x : tensor<2x3xf32>
  %r10 = graph.sin %x : tensor<2x3xf32>
  // CHECK: graph.cos %x : tensor<2x3xf32>
  %r11 = graph.cos %x : tensor<2x3xf32>
  // CHECK: graph.tan %x : tensor<2x3xf32>
  %r12 = graph.tan %x : tensor<2x3xf32>
  // CHECK: graph.asin %x : tensor<2x3xf32>
  %r13 = graph.asin %x : tensor<2x3xf32>
  // CHECK: graph.acos %x : tensor<2x3xf32>
  %r14 = graph.acos %x : tensor<2x3xf32>
  // CHECK: graph.atan %x : tensor<2x3xf32>
  %r15 = graph.atan %x : tensor<2x3xf32>
  // CHECK: graph.sinh %x : tensor<2x3xf32>
  %r16 = graph.sinh %x : tensor<2x3xf32>
  // CHECK: graph.cosh %x : tensor<2x3xf32>
  %r17 = graph.cosh %x : tensor<2x3xf32>
  // CHECK: graph.asinh %x : tensor<2x3xf32>
  %r18 = graph.asinh %x : tensor<2x3xf32>
  // CHECK: graph.acosh %x : tensor<2x3xf32>
  %r19 = graph.acosh %x : tensor<2x3xf32>
  // CHECK: graph.atanh %x : tensor<2x3xf32>
  %r20 = graph.atanh %x : tensor<2x3xf32>
  // CHECK: graph.floor %x : tensor<2x3xf32>
  %r21 = graph.floor %x : tensor<2x3xf32>
  // CHECK: graph.ceil %x : tensor<2x3xf32>
  %r22 = graph.ceil %x : tensor<2x3xf32>
  // CHECK: graph.round %x : tensor<2x3xf32>
  %r23 = graph.round %x : tensor<2x3xf32>
  // CHECK: graph.sign %x : tensor<2x3xf32>
  %r24 = graph.sign %x : tensor<2x3xf32>
  // CHECK: graph.softplus %x : tensor<2x3xf32>
  %r25 = graph.softplus %x : tensor<2x3xf32>
  // CHECK: graph.softsign %x : tensor<2x3xf32>
  %r26 = graph.softsign %x : tensor<2x3xf32>
  // CHECK: graph.hard_swish %x : tensor<2x3xf32>
  %r27 = graph.hard_swish %x : tensor<2x3xf32>
  // CHECK: graph.mish %x : tensor<2x3xf32>
  %r28 = graph.mish %x : tensor<2x3xf32>
  // CHECK: graph.dropout %x : tensor<2x3xf32>
  %r29 = graph.dropout %x : tensor<2x3xf32>
  // CHECK: graph.leaky_relu %x alpha 0.01 : tensor<2x3xf32>
  %r30 = graph.leaky_relu %x alpha 0.01 : tensor<2x3xf32>
  // CHECK: graph.elu %x alpha 1.0 : tensor<2x3xf32>
  %r31 = graph.elu %x alpha 1.0 : tensor<2x3xf32>
  // CHECK: graph.selu %x alpha 1.6732632 gamma 1.050701 : tensor<2x3xf32>
  %r32 = graph.selu %x alpha 1.6732632 gamma 1.050701 : tensor<2x3xf32>
  // CHECK: graph.celu %x alpha 0.5 : tensor<2x3xf32>
  %r33 = graph.celu %x alpha 0.5 : tensor<2x3xf32>
  // CHECK: graph.hard_sigmoid %x alpha 0.2 beta 0.5 : tensor<2x3xf32>
  %r34 = graph.hard_sigmoid %x alpha 0.2 beta 0.5 : tensor<2x3xf32>
  // CHECK: graph.thresholded_relu %x alpha 1.0 : tensor<2x3xf32>
  %r35 = graph.thresholded_relu %x alpha 1.0 : tensor<2x3xf32>
  // CHECK: graph.gelu %x approximate "tanh" : tensor<2x3xf32>
  %r36 = graph.gelu %x approximate "tanh" : tensor<2x3xf32>
  // CHECK: graph.isnan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %r37 = graph.isnan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.isinf %x detect_negative : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %r38 = graph.isinf %x detect_negative : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.isinf %x detect_positive : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %r39 = graph.isinf %x detect_positive : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xui8>
  %r40 = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xui8>
  // CHECK: graph.leaky_relu %x alpha nan : tensor<2x3xf32>
  %r41 = graph.leaky_relu %x alpha nan : tensor<2x3xf32>
  // CHECK: graph.leaky_relu %x alpha minus_inf : tensor<2x3xf32>
  %r42 = graph.leaky_relu %x alpha minus_inf : tensor<2x3xf32>
  // CHECK: graph.leaky_relu %x alpha 1.0e+20 : tensor<2x3xf32>
  %r43 = graph.leaky_relu %x alpha 1.0e+20 : tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: @binary
func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %i: tensor<2xi64>, %j: tensor<1xi64>, %p: tensor<2xi1>) {
  // CHECK: graph.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r1 = graph.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r2 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.div %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r3 = graph.div %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.pow %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r4 = graph.pow %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mod %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r5 = graph.mod %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.max %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r6 = graph.max %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.min %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r7 = graph.min %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.prelu %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r8 = graph.prelu %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mod %x, %y fmod : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r9 = graph.mod %x, %y fmod : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.equal %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r10 = graph.equal %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.less %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r11 = graph.less %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.less_equal %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r12 = graph.less_equal %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.greater %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r13 = graph.greater %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.greater_equal %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r14 = graph.greater_equal %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.bitwise_and %i, %j : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %r15 = graph.bitwise_and %i, %j : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: graph.bitwise_or %i, %j : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %r16 = graph.bitwise_or %i, %j : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: graph.bitwise_xor %i, %j : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %r17 = graph.bitwise_xor %i, %j : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: graph.bitwise_not %i : tensor<2xi64>
  %r18 = graph.bitwise_not %i : tensor<2xi64>
  // CHECK: graph.shift %i, %j direction "right" : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %r19 = graph.shift %i, %j direction "right" : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: graph.not %p : tensor<2xi1>
  %r20 = graph.not %p : tensor<2xi1>
  // CHECK: graph.and %p, %p : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %r21 = graph.and %p, %p : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  // CHECK: graph.or %p, %p : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %r22 = graph.or %p, %p : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  // CHECK: graph.xor %p, %p : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %r23 = graph.xor %p, %p : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  // CHECK: graph.pow %x, %j : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x3xf32>
  %r24 = graph.pow %x, %j : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x3xf32>
  // CHECK: graph.where %p, %i, %j : (tensor<2xi1>, tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %r25 = graph.where %p, %i, %j : (tensor<2xi1>, tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  func.return
}

// CHECK-LABEL: @clip
func.func @clip(%x: tensor<2x3xf32>, %l: tensor<f32>, %h: tensor<f32>) {
  // CHECK: graph.clip %x : tensor<2x3xf32>
  %r0 = graph.clip %x : tensor<2x3xf32>
  // CHECK: graph.clip %x low %l : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %r1 = graph.clip %x low %l : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: graph.clip %x high %h : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %r2 = graph.clip %x high %h : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: graph.clip %x low %l high %h : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  %r3 = graph.clip %x low %l high %h : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<2x3xf32>, %v: tensor<f32>, %i: tensor<4xi64>, %e: tensor<2x1xi64>, %u: tensor<4x3xf32>, %w: tensor<2x1xf32>, %n: tensor<5x1xi64>, %m: tensor<5x3xf32>) {
  // CHECK: graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %r0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK: graph.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r1 = graph.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: graph.expand %x : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %r2 = graph.expand %x : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  // CHECK: graph.concat %x, %x axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %r3 = graph.concat %x, %x axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK: graph.concat %x axis 1 : tensor<2x3xf32>
  %r4 = graph.concat %x axis 1 : tensor<2x3xf32>
  // CHECK: graph.slice %x starts [1, 2] sizes [1, 2] steps [1, -1] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  %r5 = graph.slice %x starts [1, 2] sizes [1, 2] steps [1, -1] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  // CHECK: graph.pad %x pads [0, 1, 0, -1] mode "reflect" : tensor<2x3xf32>
  %r6 = graph.pad %x pads [0, 1, 0, -1] mode "reflect" : tensor<2x3xf32>
  // CHECK: graph.pad %x, %v pads [1, 0, 0, 0] mode "constant" : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %r7 = graph.pad %x, %v pads [1, 0, 0, 0] mode "constant" : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  // CHECK: graph.gather %x, %i axis 0 : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %r8 = graph.gather %x, %i axis 0 : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  // CHECK: graph.gather_elements %x, %e axis 1 : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2x1xf32>
  %r9 = graph.gather_elements %x, %e axis 1 : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2x1xf32>
  // CHECK: graph.gather_nd %x, %n batch_dims 0 : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  %r10 = graph.gather_nd %x, %n batch_dims 0 : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  // CHECK: graph.scatter_nd %x, %n, %m reduction "add" : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  %r11 = graph.scatter_nd %x, %n, %m reduction "add" : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.scatter_elements %x, %e, %w axis 1 reduction "none" : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %r12 = graph.scatter_elements %x, %e, %w axis 1 reduction "none" : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  // CHECK: graph.tile %x repeats [2, 1] : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %r13 = graph.tile %x repeats [2, 1] : (tensor<2x3xf32>) -> tensor<4x3xf32>
  // CHECK: graph.cumsum %x axis 1 exclusive reverse : tensor<2x3xf32>
  %r14 = graph.cumsum %x axis 1 exclusive reverse : tensor<2x3xf32>
  // CHECK: graph.cumprod %x axis 0 reverse : tensor<2x3xf32>
  %products = graph.cumprod %x axis 0 reverse : tensor<2x3xf32>
  // CHECK: graph.resize %x mode "cubic" coordinate "half_pixel" nearest_mode "floor" scales [2.0, 1.5] cubic_coeff -0.5 exclude_outside antialias extrapolation 0.0 : (tensor<2x3xf32>) -> tensor<4x4xf32>
  %r15 = graph.resize %x mode "cubic" coordinate "half_pixel" nearest_mode "floor" scales [2.0, 1.5] cubic_coeff -0.5 exclude_outside antialias extrapolation 0.0 : (tensor<2x3xf32>) -> tensor<4x4xf32>
  // CHECK: graph.resize %x mode "linear" coordinate "tf_crop_and_resize" nearest_mode "floor" scales [2.0, 1.5] cubic_coeff -0.75 extrapolation 10.0 roi [0.0, 0.25, 1.0, 0.75] : (tensor<2x3xf32>) -> tensor<4x4xf32>
  %r16 = graph.resize %x mode "linear" coordinate "tf_crop_and_resize" nearest_mode "floor" scales [2.0, 1.5] cubic_coeff -0.75 extrapolation 10.0 roi [0.0, 0.25, 1.0, 0.75] : (tensor<2x3xf32>) -> tensor<4x4xf32>
  func.return
}

// CHECK-LABEL: @orders
func.func @orders(%x: tensor<2x3xf32>, %v: tensor<2x5xf32>) {
  // CHECK: graph.argsort %x axis 1 count 2 descending : (tensor<2x3xf32>) -> tensor<2x2xi64>
  %r0 = graph.argsort %x axis 1 count 2 descending : (tensor<2x3xf32>) -> tensor<2x2xi64>
  // CHECK: graph.search_sorted %x, %v right : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x5xi64>
  %r1 = graph.search_sorted %x, %v right : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x5xi64>
  func.return
}

// CHECK-LABEL: @samples
func.func @samples(%x: tensor<2x3x4x5xf32>, %g: tensor<2x6x7x2xf32>, %r: tensor<3x4xf32>, %b: tensor<3xi64>) {
  // CHECK: graph.grid_sample %x, %g mode "cubic" padding "border" align_corners pixels : (tensor<2x3x4x5xf32>, tensor<2x6x7x2xf32>) -> tensor<2x3x6x7xf32>
  %r0 = graph.grid_sample %x, %g mode "cubic" padding "border" align_corners pixels : (tensor<2x3x4x5xf32>, tensor<2x6x7x2xf32>) -> tensor<2x3x6x7xf32>
  // CHECK: graph.roi_align %x, %r, %b mode "max" sizes [2, 3] samples 2 scale 0.5 half_pixel adaptive : (tensor<2x3x4x5xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x3x2x3xf32>
  %r1 = graph.roi_align %x, %r, %b mode "max" sizes [2, 3] samples 2 scale 0.5 half_pixel adaptive : (tensor<2x3x4x5xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x3x2x3xf32>
  // CHECK: graph.random_bits key 7 : () -> tensor<2x3xui32>
  %r2 = graph.random_bits key 7 : () -> tensor<2x3xui32>
  func.return
}

// CHECK-LABEL: @reduction
func.func @reduction(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // CHECK: graph.reduce %x kind "mean" axes [0, 1] keepdims : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %r0 = graph.reduce %x kind "mean" axes [0, 1] keepdims : (tensor<2x3xf32>) -> tensor<1x1xf32>
  // CHECK: graph.reduce %x kind "log_sum_exp" axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %r1 = graph.reduce %x kind "log_sum_exp" axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  // CHECK: graph.arg_reduce %x kind "max" axis 1 select_last : (tensor<2x3xf32>) -> tensor<2xi64>
  %r2 = graph.arg_reduce %x kind "max" axis 1 select_last : (tensor<2x3xf32>) -> tensor<2xi64>
  // CHECK: graph.softmax %x axis -1 : tensor<2x3xf32>
  %r3 = graph.softmax %x axis -1 : tensor<2x3xf32>
  // CHECK: graph.log_softmax %x axis 0 : tensor<2x3xf32>
  %r4 = graph.log_softmax %x axis 0 : tensor<2x3xf32>
  // CHECK: graph.matmul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  %r5 = graph.matmul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return
}

// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %v: tensor<3x4x3x3xf32>, %c: tensor<1x2x8x8x16xf32>, %k: tensor<3x2x1x1x16x16xf32>, %f: tensor<1x3x3x3x16xf32>, %d: tensor<2x1x3x3x16xf32>, %g: tensor<3xf32>) {
  // CHECK: graph.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  %r0 = graph.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [2, 1] group 1 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x6xf32>
  %r1 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [2, 1] group 1 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x6xf32>
  // CHECK: graph.conv %c, %k strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x2x8x8x16xf32>, tensor<3x2x1x1x16x16xf32>) -> tensor<1x3x8x8x16xf32>
  %r2 = graph.conv %c, %k strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" : (tensor<1x2x8x8x16xf32>, tensor<3x2x1x1x16x16xf32>) -> tensor<1x3x8x8x16xf32>
  // CHECK: graph.conv %x, %f strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW->NCHW16c" weight_layout "OIHW16o" : (tensor<1x3x8x8xf32>, tensor<1x3x3x3x16xf32>) -> tensor<1x1x8x8x16xf32>
  %r3 = graph.conv %x, %f strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW->NCHW16c" weight_layout "OIHW16o" : (tensor<1x3x8x8xf32>, tensor<1x3x3x3x16xf32>) -> tensor<1x1x8x8x16xf32>
  // CHECK: graph.conv %c, %d strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 24 layout "NCHW16c" weight_layout "OIHW16o" : (tensor<1x2x8x8x16xf32>, tensor<2x1x3x3x16xf32>) -> tensor<1x2x8x8x16xf32>
  %r4 = graph.conv %c, %d strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 24 layout "NCHW16c" weight_layout "OIHW16o" : (tensor<1x2x8x8x16xf32>, tensor<2x1x3x3x16xf32>) -> tensor<1x2x8x8x16xf32>
  // CHECK: graph.conv_transpose %x, %v, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 output_padding [1, 1] : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x16x16xf32>
  %r5 = graph.conv_transpose %x, %v, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 output_padding [1, 1] : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x16x16xf32>
  // CHECK: graph.pool %x kind "max" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] ceil_mode : (tensor<1x3x8x8xf32>) -> tensor<1x3x5x5xf32>
  %r6 = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] ceil_mode : (tensor<1x3x8x8xf32>) -> tensor<1x3x5x5xf32>
  // CHECK: graph.pool %x kind "average" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] count_include_pad : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %r7 = graph.pool %x kind "average" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] count_include_pad : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  // CHECK: graph.pool %x kind "lp" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] p 2 : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %r8 = graph.pool %x kind "lp" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] p 2 : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  // CHECK: graph.pool %c kind "max" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout "NCHW16c" : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x4x4x16xf32>
  %r9 = graph.pool %c kind "max" kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout "NCHW16c" : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x4x4x16xf32>
  // CHECK: graph.batch_norm %x, %g, %g, %g, %g epsilon 1.0e-05 : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  %r10 = graph.batch_norm %x, %g, %g, %g, %g epsilon 1.0e-05 : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  // CHECK: graph.layout_transform %x from "NCHW" to "NCHW16c" sizes [1, 3, 8, 8] : (tensor<1x3x8x8xf32>) -> tensor<1x1x8x8x16xf32>
  %r11 = graph.layout_transform %x from "NCHW" to "NCHW16c" sizes [1, 3, 8, 8] : (tensor<1x3x8x8xf32>) -> tensor<1x1x8x8x16xf32>
  // CHECK: graph.layout_transform %c from "NCHW16c" to "NCHW" sizes [1, 24, 8, 8] : (tensor<1x2x8x8x16xf32>) -> tensor<1x24x8x8xf32>
  %r12 = graph.layout_transform %c from "NCHW16c" to "NCHW" sizes [1, 24, 8, 8] : (tensor<1x2x8x8x16xf32>) -> tensor<1x24x8x8xf32>
  // CHECK: graph.layout_transform %w from "OIHW" to "OIHW16i16o" sizes [4, 3, 3, 3] : (tensor<4x3x3x3xf32>) -> tensor<1x1x3x3x16x16xf32>
  %r13 = graph.layout_transform %w from "OIHW" to "OIHW16i16o" sizes [4, 3, 3, 3] : (tensor<4x3x3x3xf32>) -> tensor<1x1x3x3x16x16xf32>
  func.return
}

// CHECK-LABEL: @constant
func.func @constant() {
  // CHECK: graph.constant dense<[1, 2]> : tensor<2xi64>
  %r0 = graph.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: graph.constant dense<2.500000e+00> : tensor<4x1xf32>
  %r1 = graph.constant dense<2.500000e+00> : tensor<4x1xf32>
  // CHECK: graph.constant dense<true> : tensor<i1>
  %r2 = graph.constant dense<true> : tensor<i1>
  // CHECK: graph.constant #graph.resource<"0123456789abcdef"> : tensor<64x3x7x7xf32>
  %r3 = graph.constant #graph.resource<"0123456789abcdef"> : tensor<64x3x7x7xf32>
  func.return
}

// CHECK-LABEL: @unknown_sizes
func.func @unknown_sizes(%x: tensor<?x3xf32>, %w: tensor<3x4xf32>) {
  // CHECK: graph.relu %x : tensor<?x3xf32>
  %r0 = graph.relu %x : tensor<?x3xf32>
  // CHECK: graph.matmul %x, %p weight_layout "NK2n" : (tensor<?x3xf32>, tensor<2x3x2xf32>) -> tensor<?x4xf32>
  %p = graph.layout_transform %w from "KN" to "NK2n" sizes [3, 4] : (tensor<3x4xf32>) -> tensor<2x3x2xf32>
  %r7 = graph.matmul %x, %p weight_layout "NK2n" : (tensor<?x3xf32>, tensor<2x3x2xf32>) -> tensor<?x4xf32>
  // CHECK: graph.matmul %x, %w : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  %r1 = graph.matmul %x, %w : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  // CHECK: graph.add %x, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  %r2 = graph.add %x, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: @extra_attributes
func.func @extra_attributes(%x: tensor<2x3xf32>) {
  // CHECK: graph.relu %x {note = "kept"} : tensor<2x3xf32>
  %r0 = graph.relu %x {note = "kept"} : tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: @fused
func.func @fused(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK: graph.fused (%[[A:.*]] = %x : tensor<2x3xf32>, %[[B:.*]] = %y : tensor<3xf32>) -> (tensor<2x3xf32>) {
  // CHECK-NEXT: %[[S:.*]] = graph.add %[[A]], %[[B]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: graph.yield %[[S]] : tensor<2x3xf32>
  // CHECK-NEXT: }
  %r = graph.fused (%a = %x : tensor<2x3xf32>, %b = %y : tensor<3xf32>) -> (tensor<2x3xf32>) {
    %s = graph.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    graph.yield %s : tensor<2x3xf32>
  }
  func.return %r : tensor<2x3xf32>
}

// CHECK-LABEL: @fused_nothing
func.func @fused_nothing() {
  // CHECK: graph.fused () attributes {note = "kept"} -> () {
  // CHECK-NEXT: graph.yield
  // CHECK-NEXT: }
  graph.fused () attributes {note = "kept"} -> () {
    graph.yield
  }
  func.return
}

// CHECK-LABEL: @scan
func.func @scan(%h: tensor<3xf32>, %xs: tensor<9x3xf32>, %k: tensor<3xf32>) -> (tensor<3xf32>, tensor<9x3xf32>) {
  // CHECK: graph.scan (%[[A:.*]] = %h : tensor<3xf32>) over (%[[B:.*]] = %xs : tensor<9x3xf32>) reverse -> (tensor<3xf32>, tensor<9x3xf32>) {
  // CHECK-NEXT: %[[S:.*]] = graph.mul %[[A]], %k : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK-NEXT: graph.yield %[[S]], %[[B]] : tensor<3xf32>, tensor<3xf32>
  // CHECK-NEXT: }
  %last, %ys = graph.scan (%a = %h : tensor<3xf32>) over (%b = %xs : tensor<9x3xf32>) reverse -> (tensor<3xf32>, tensor<9x3xf32>) {
    %s = graph.mul %a, %k : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %s, %b : tensor<3xf32>, tensor<3xf32>
  }
  func.return %last, %ys : tensor<3xf32>, tensor<9x3xf32>
}

// CHECK-LABEL: @winograd
func.func @winograd(%x: tensor<1x2x9x7x16xf32>, %w: tensor<3x2x3x3x16x16xf32>) -> tensor<1x3x9x7x16xf32> {
  // CHECK: %u = graph.winograd_weights %w tile 4 : (tensor<3x2x3x3x16x16xf32>) -> tensor<6x6x3x2x16x16xf32>
  %u = graph.winograd_weights %w tile 4 : (tensor<3x2x3x3x16x16xf32>) -> tensor<6x6x3x2x16x16xf32>
  // CHECK: graph.conv %x, %u strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" algorithm "winograd4" :
  %y = graph.conv %x, %u strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 layout "NCHW16c" weight_layout "OIHW16i16o" algorithm "winograd4" : (tensor<1x2x9x7x16xf32>, tensor<6x6x3x2x16x16xf32>) -> tensor<1x3x9x7x16xf32>
  func.return %y : tensor<1x3x9x7x16xf32>
}
