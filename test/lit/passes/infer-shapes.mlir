// RUN: nn-opt --infer-shapes --split-input-file %s | filecheck %s

// CHECK-LABEL: @unknown_sizes_become_known
// CHECK-SAME:  -> tensor<2x8x15x15xf32>
func.func @unknown_sizes_become_known(%x: tensor<2x3x32x32xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<?x?x?x?xf32> {
  // CHECK: graph.conv {{.*}} -> tensor<2x8x15x15xf32>
  // CHECK: graph.relu {{.*}} : tensor<2x8x15x15xf32>
  // CHECK: func.return {{.*}} : tensor<2x8x15x15xf32>
  %y = graph.conv %x, %w strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<2x3x32x32xf32>, tensor<8x3x3x3xf32>) -> tensor<?x?x?x?xf32>
  %z = graph.relu %y : tensor<?x?x?x?xf32>
  func.return %z : tensor<?x?x?x?xf32>
}

// -----

// CHECK-LABEL: @one_unknown_size_of_a_reshape_follows_from_the_others
func.func @one_unknown_size_of_a_reshape_follows_from_the_others(%x: tensor<2x3x4xf32>) -> tensor<?x12xf32> {
  // CHECK: graph.reshape {{.*}} -> tensor<2x12xf32>
  %y = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<?x12xf32>
  func.return %y : tensor<?x12xf32>
}

// -----

// CHECK-LABEL: @bodies_of_scans_are_inferred
func.func @bodies_of_scans_are_inferred(%h: tensor<4xf32>, %xs: tensor<9x4xf32>) -> (tensor<4xf32>, tensor<9x?xf32>) {
  // CHECK: graph.scan {{.*}} -> (tensor<4xf32>, tensor<9x4xf32>)
  // CHECK:   graph.add {{.*}} -> tensor<4xf32>
  %last, %all = graph.scan (%s = %h : tensor<4xf32>) over (%x = %xs : tensor<9x4xf32>) -> (tensor<4xf32>, tensor<9x?xf32>) {
    %n = graph.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %r = graph.relu %n : tensor<4xf32>
    %o = graph.slice %r starts [0] sizes [4] steps [1] : (tensor<4xf32>) -> tensor<?xf32>
    graph.yield %r, %o : tensor<4xf32>, tensor<?xf32>
  }
  func.return %last, %all : tensor<4xf32>, tensor<9x?xf32>
}
