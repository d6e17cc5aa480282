// RUN: nn-opt --fuse-ops --split-input-file %s | filecheck %s
// RUN: nn-opt --fuse-ops --split-input-file --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @epilogue_with_residual_joins_the_convolution
func.func @epilogue_with_residual_joins_the_convolution(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %r: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.conv
  // CHECK-NEXT:   graph.add
  // CHECK-NEXT:   graph.relu
  // CHECK-NEXT:   graph.yield
  // CHECK-NOT:  graph.fused
  %c = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %a = graph.add %c, %r : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %z = graph.relu %a : tensor<1x4x8x8xf32>
  func.return %z : tensor<1x4x8x8xf32>
}

// -----

// CHECK-LABEL: @a_diamond_joins_whole
func.func @a_diamond_joins_whole(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.sigmoid
  // CHECK-NEXT:   graph.mul
  // CHECK-NOT:  graph.fused
  %c = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = graph.sigmoid %c : tensor<4x4xf32>
  %z = graph.mul %c, %s : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %z : tensor<4x4xf32>
}

// -----

// The sum needs the later matmul's kernel; the earlier one is read by it from memory.
// CHECK-LABEL: @two_anchors_do_not_share_a_kernel
func.func @two_anchors_do_not_share_a_kernel(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.add
  %a = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.matmul %w, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = graph.add %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %z : tensor<4x4xf32>
}

// -----

// REMARK: remark: graph.matmul: kept in memory for 2 readers: graph.matmul is too dear to repeat [fuse-ops]
// CHECK-LABEL: @second_reader_outside_blocks_fusion
func.func @second_reader_outside_blocks_fusion(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.relu
  %c = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = graph.relu %c : tensor<4x4xf32>
  func.return %c, %z : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @another_shape_blocks_the_epilogue
func.func @another_shape_blocks_the_epilogue(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>, %r: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      graph.matmul
  // CHECK-NEXT: graph.yield
  // CHECK:      graph.add
  %c = graph.matmul %x, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %z = graph.add %c, %r : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %z : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @producers_join_a_reduction_but_not_a_matmul
func.func @producers_join_a_reduction_but_not_a_matmul(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x1xf32>, tensor<4x4xf32>) {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.exp
  // CHECK-NEXT:   graph.reduce
  // CHECK-NEXT:   graph.sqrt
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.tanh
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.matmul
  %e = graph.exp %x : tensor<4x4xf32>
  %s = graph.reduce %e kind "sum" axes [1] keepdims : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %q = graph.sqrt %s : tensor<4x1xf32>
  %t = graph.tanh %x : tensor<4x4xf32>
  %m = graph.matmul %t, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %q, %m : tensor<4x1xf32>, tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @softmax_takes_an_epilogue_but_no_prologue
func.func @softmax_takes_an_epilogue_but_no_prologue(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.neg
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.softmax
  // CHECK-NEXT:   graph.relu
  %n = graph.neg %x : tensor<4x4xf32>
  %s = graph.softmax %n axis 1 : tensor<4x4xf32>
  %r = graph.relu %s : tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// REMARK: remark: graph.sub: computed again in each of 2 readers: 32512 bytes of traffic against 4096 operations [fuse-ops]
// CHECK-LABEL: @a_cheap_value_is_computed_again_in_each_reader
func.func @a_cheap_value_is_computed_again_in_each_reader(%x: tensor<64x64xf32>, %m: tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64x64xf32>) {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.sub
  // CHECK-NEXT:   graph.reduce
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.sub
  // CHECK-NEXT:   graph.tanh
  // CHECK-NOT:  graph.fused
  %d = graph.sub %x, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %s = graph.reduce %d kind "sum_square" axes [1] keepdims : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %t = graph.tanh %d : tensor<64x64xf32>
  func.return %s, %t : tensor<64x1xf32>, tensor<64x64xf32>
}

// -----

// REMARK: remark: graph.exp: kept in memory for 2 readers: 32768 bytes of traffic against 81920 operations [fuse-ops]
// CHECK-LABEL: @a_dear_value_is_kept
func.func @a_dear_value_is_kept(%x: tensor<64x64xf32>) -> (tensor<64x1xf32>, tensor<64x64xf32>) {
  // CHECK:      graph.exp
  // CHECK-NEXT: graph.yield
  // CHECK:      graph.reduce
  // CHECK-NEXT: graph.yield
  // CHECK:      graph.neg
  %e = graph.exp %x : tensor<64x64xf32>
  %s = graph.reduce %e kind "sum" axes [1] keepdims : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %t = graph.neg %e : tensor<64x64xf32>
  func.return %s, %t : tensor<64x1xf32>, tensor<64x64xf32>
}

// -----

// REMARK: remark: graph.neg: kept in memory for 2 readers: a reader needs the whole value [fuse-ops]
// CHECK-LABEL: @a_reader_that_needs_the_whole_value_keeps_it
func.func @a_reader_that_needs_the_whole_value_keeps_it(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK:      graph.neg
  // CHECK-NEXT: graph.yield
  %n = graph.neg %x : tensor<4x4xf32>
  %m = graph.matmul %n, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = graph.relu %n : tensor<4x4xf32>
  func.return %m, %t : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @slices_lead_a_chain_and_exp_moves_with_a_transpose
func.func @slices_lead_a_chain_and_exp_moves_with_a_transpose(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.slice
  // CHECK-NEXT:   graph.slice
  // CHECK-NEXT:   graph.sigmoid
  // CHECK-NEXT:   graph.mul
  // CHECK-NEXT:   graph.transpose
  // CHECK-NOT:  graph.fused
  %a = graph.slice %x starts [0, 0] sizes [4, 4] steps [1, 1] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %b = graph.slice %x starts [0, 4] sizes [4, 4] steps [1, 1] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %s = graph.sigmoid %b : tensor<4x4xf32>
  %m = graph.mul %a, %s : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = graph.transpose %m perm [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %t : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @a_dear_op_is_not_repeated_through_expand
func.func @a_dear_op_is_not_repeated_through_expand(%x: tensor<4x1xf32>, %y: tensor<4x1xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.tanh
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.expand
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.neg
  // CHECK-NEXT:   graph.expand
  %t = graph.tanh %x : tensor<4x1xf32>
  %e = graph.expand %t : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %n = graph.neg %y : tensor<4x1xf32>
  %f = graph.expand %n : (tensor<4x1xf32>) -> tensor<4x8xf32>
  func.return %e, %f : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @views_stay_outside_and_small_constants_move_in
func.func @views_stay_outside_and_small_constants_move_in(%x: tensor<16xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: graph.fused (%{{.*}} = %x : tensor<16xf32>)
  // CHECK-NEXT:   graph.constant
  // CHECK-NEXT:   graph.mul
  // CHECK:      graph.reshape
  // CHECK-NEXT: graph.fused
  // CHECK-NEXT:   graph.relu
  %two = graph.constant dense<2.0> : tensor<f32>
  %a = graph.mul %x, %two : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  %v = graph.reshape %a : (tensor<16xf32>) -> tensor<4x4xf32>
  %r = graph.relu %v : tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @the_body_of_a_scan_is_grouped_by_itself
func.func @the_body_of_a_scan_is_grouped_by_itself(%h: tensor<1x4xf32>, %xs: tensor<9x1x4xf32>, %w: tensor<4x4xf32>) -> (tensor<1x4xf32>, tensor<9x1x4xf32>) {
  // CHECK:      graph.scan
  // CHECK-NEXT:   graph.fused ({{.*}} = %w : tensor<4x4xf32>{{.*}})
  // CHECK-NEXT:     graph.matmul
  // CHECK-NEXT:     graph.add
  // CHECK-NEXT:     graph.tanh
  %last, %all = graph.scan (%s = %h : tensor<1x4xf32>) over (%x = %xs : tensor<9x1x4xf32>) -> (tensor<1x4xf32>, tensor<9x1x4xf32>) {
    %m = graph.matmul %s, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %n = graph.add %m, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %t = graph.tanh %n : tensor<1x4xf32>
    graph.yield %t, %t : tensor<1x4xf32>, tensor<1x4xf32>
  }
  func.return %last, %all : tensor<1x4xf32>, tensor<9x1x4xf32>
}

// -----

// CHECK-LABEL: @an_opaque_op_is_a_kernel_of_its_own
func.func @an_opaque_op_is_a_kernel_of_its_own(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      graph.neg
  // CHECK-NEXT: graph.yield
  // CHECK:      graph.cumsum
  // CHECK-NEXT: graph.yield
  // CHECK:      graph.relu
  // CHECK-NEXT: graph.yield
  %a = graph.neg %x : tensor<4xf32>
  %c = graph.cumsum %a axis 0 : tensor<4xf32>
  %r = graph.relu %c : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// A matmul with a residual that needs a transpose: the transpose is a kernel of its own.
// CHECK-LABEL: @nothing_moves_in_the_epilogue_of_an_anchor
func.func @nothing_moves_in_the_epilogue_of_an_anchor(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      graph.transpose
  // CHECK-NEXT: graph.yield
  // CHECK:      graph.matmul
  // CHECK-NEXT: graph.add
  %m = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = graph.transpose %x perm [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = graph.add %m, %t : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// The scan reads %t at every step, so %t is made before it; the scan's result feeds a kernel after it.
// CHECK-LABEL: @a_value_that_a_scan_captures_is_made_before_it
func.func @a_value_that_a_scan_captures_is_made_before_it(%h: tensor<4xf32>, %xs: tensor<9x4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.tanh
  // CHECK:      graph.scan
  // CHECK-NEXT:   graph.fused
  // CHECK-NEXT:     graph.mul
  // CHECK-NEXT:     graph.add
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.add
  %t = graph.tanh %w : tensor<4xf32>
  %last = graph.scan (%s = %h : tensor<4xf32>) over (%x = %xs : tensor<9x4xf32>) -> (tensor<4xf32>) {
    %m = graph.mul %x, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = graph.add %s, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  %y = graph.add %last, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @a_kernel_is_not_grouped_again
func.func private @a_kernel_is_not_grouped_again(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kernel} {
  // CHECK-NEXT: graph.relu
  %r = graph.relu %x : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// A layer norm reads its rows once: both reductions join the kernel that reads them.
// CHECK-LABEL: @layer_norm_is_one_kernel
// CHECK:       graph.fused
// CHECK:         graph.reduce
// CHECK:         graph.reduce
// CHECK:         graph.sqrt
// CHECK:         graph.div
// CHECK:       graph.yield
// CHECK-NOT:   graph.fused
func.func @layer_norm_is_one_kernel(%x: tensor<2x5x64xf32>, %g: tensor<64xf32>) -> tensor<2x5x64xf32> {
  %e = graph.constant dense<1.0e-5> : tensor<f32>
  %m = graph.reduce %x kind "mean" axes [2] keepdims : (tensor<2x5x64xf32>) -> tensor<2x5x1xf32>
  %d = graph.sub %x, %m : (tensor<2x5x64xf32>, tensor<2x5x1xf32>) -> tensor<2x5x64xf32>
  %s = graph.mul %d, %d : (tensor<2x5x64xf32>, tensor<2x5x64xf32>) -> tensor<2x5x64xf32>
  %v = graph.reduce %s kind "mean" axes [-1] keepdims : (tensor<2x5x64xf32>) -> tensor<2x5x1xf32>
  %w = graph.add %v, %e : (tensor<2x5x1xf32>, tensor<f32>) -> tensor<2x5x1xf32>
  %r = graph.sqrt %w : tensor<2x5x1xf32>
  %q = graph.div %d, %r : (tensor<2x5x64xf32>, tensor<2x5x1xf32>) -> tensor<2x5x64xf32>
  %y = graph.mul %q, %g : (tensor<2x5x64xf32>, tensor<64xf32>) -> tensor<2x5x64xf32>
  func.return %y : tensor<2x5x64xf32>
}

// -----

// Somebody else reads the mean, so it stays a kernel.
// CHECK-LABEL: @second_reader_keeps_a_reduction
// CHECK:       graph.fused
// CHECK:         graph.reduce
// CHECK:       graph.fused
// CHECK:         graph.sub
func.func @second_reader_keeps_a_reduction(%x: tensor<5x64xf32>) -> (tensor<5x64xf32>, tensor<5x1xf32>) {
  %m = graph.reduce %x kind "mean" axes [1] keepdims : (tensor<5x64xf32>) -> tensor<5x1xf32>
  %d = graph.sub %x, %m : (tensor<5x64xf32>, tensor<5x1xf32>) -> tensor<5x64xf32>
  func.return %d, %m : tensor<5x64xf32>, tensor<5x1xf32>
}

// -----

// Columns are no rows, and a row that is much longer does not stay in cache.
// CHECK-LABEL: @other_axes_and_long_rows_stay_apart
// CHECK-COUNT-4: graph.fused
func.func @other_axes_and_long_rows_stay_apart(%x: tensor<5x64xf32>, %z: tensor<2x8192xf32>) -> (tensor<5x64xf32>, tensor<2x8192xf32>) {
  %m = graph.reduce %x kind "max" axes [0] keepdims : (tensor<5x64xf32>) -> tensor<1x64xf32>
  %d = graph.sub %x, %m : (tensor<5x64xf32>, tensor<1x64xf32>) -> tensor<5x64xf32>
  %n = graph.reduce %z kind "max" axes [1] keepdims : (tensor<2x8192xf32>) -> tensor<2x1xf32>
  %f = graph.sub %z, %n : (tensor<2x8192xf32>, tensor<2x1xf32>) -> tensor<2x8192xf32>
  func.return %d, %f : tensor<5x64xf32>, tensor<2x8192xf32>
}

// -----

// What is done to each element is done while panels are packed; a product's epilogue is not.
// CHECK-LABEL: @packing_takes_a_prologue
// CHECK:       graph.fused
// CHECK-NEXT:    graph.relu
// CHECK-NEXT:    graph.layout_transform
// CHECK-NEXT:    graph.yield
// CHECK:       graph.matmul
// CHECK-NEXT:  graph.relu
// CHECK-NEXT:  graph.yield
// CHECK:       graph.fused
// CHECK-NEXT:    graph.layout_transform
func.func @packing_takes_a_prologue(%x: tensor<8x8xf32>) -> (tensor<1x8x16xf32>, tensor<1x8x16xf32>) {
  %a = graph.relu %x : tensor<8x8xf32>
  %q = graph.layout_transform %a from "KN" to "NK16n" sizes [8, 8] : (tensor<8x8xf32>) -> tensor<1x8x16xf32>
  %m = graph.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = graph.relu %m : tensor<8x8xf32>
  %p = graph.layout_transform %r from "KN" to "NK16n" sizes [8, 8] : (tensor<8x8xf32>) -> tensor<1x8x16xf32>
  func.return %q, %p : tensor<1x8x16xf32>, tensor<1x8x16xf32>
}
