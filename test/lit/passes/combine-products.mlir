// RUN: nn-opt --combine-products --split-input-file %s | filecheck %s

// CHECK-LABEL: @queries_and_keys
func.func @queries_and_keys(%x: tensor<1x4x8xf32>) -> (tensor<1x2x4x3xf32>, tensor<1x2x3x4xf32>) {
  // CHECK:      %[[W:.*]] = graph.concat %{{.*}}, %{{.*}} axis 1 : {{.*}} -> tensor<8x12xf32>
  // CHECK-NEXT: %[[P:.*]] = graph.matmul %{{.*}}, %[[W]]
  // CHECK:      %[[B:.*]] = graph.concat %{{.*}}, %{{.*}} axis 0 : {{.*}} -> tensor<12xf32>
  // CHECK-NEXT: %[[Y:.*]] = graph.add %[[P]], %[[B]]
  // CHECK-NOT:  graph.matmul
  // CHECK:      %[[Q:.*]] = graph.reshape %[[Y]] : (tensor<1x4x12xf32>) -> tensor<1x4x4x3xf32>
  // CHECK-NEXT: graph.slice %[[Q]] starts [0, 0, 0, 0] sizes [1, 4, 2, 3]
  // CHECK:      %[[K:.*]] = graph.reshape %[[Y]] : (tensor<1x4x12xf32>) -> tensor<1x4x4x3xf32>
  // CHECK-NEXT: graph.slice %[[K]] starts [0, 0, 2, 0] sizes [1, 4, 2, 3]
  %w = graph.constant dense<0.5> : tensor<8x6xf32>
  %b = graph.constant dense<1.0> : tensor<6xf32>
  %p = graph.matmul %x, %w : (tensor<1x4x8xf32>, tensor<8x6xf32>) -> tensor<1x4x6xf32>
  %q = graph.add %b, %p : (tensor<6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %q4 = graph.reshape %q : (tensor<1x4x6xf32>) -> tensor<1x4x2x3xf32>
  %qt = graph.transpose %q4 perm [0, 2, 1, 3] : (tensor<1x4x2x3xf32>) -> tensor<1x2x4x3xf32>
  %v = graph.constant dense<0.25> : tensor<8x6xf32>
  %c = graph.constant dense<2.0> : tensor<6xf32>
  %r = graph.matmul %x, %v : (tensor<1x4x8xf32>, tensor<8x6xf32>) -> tensor<1x4x6xf32>
  %k = graph.add %r, %c : (tensor<1x4x6xf32>, tensor<6xf32>) -> tensor<1x4x6xf32>
  %k4 = graph.reshape %k : (tensor<1x4x6xf32>) -> tensor<1x4x2x3xf32>
  %kt = graph.transpose %k4 perm [0, 2, 3, 1] : (tensor<1x4x2x3xf32>) -> tensor<1x2x3x4xf32>
  func.return %qt, %kt : tensor<1x2x4x3xf32>, tensor<1x2x3x4xf32>
}

// -----

// CHECK-LABEL: @results_in_pieces_of_their_own
func.func @results_in_pieces_of_their_own(%x: tensor<4x8xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  // CHECK-COUNT-2: graph.matmul
  %w = graph.constant dense<0.5> : tensor<8x6xf32>
  %v = graph.constant dense<0.25> : tensor<8x6xf32>
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %q = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  func.return %p, %q : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @a_product_finishes_what_is_pointwise
func.func @a_product_finishes_what_is_pointwise(%x: tensor<4x8xf32>) -> tensor<4x6xf32> {
  // CHECK-COUNT-2: graph.matmul
  %w = graph.constant dense<0.5> : tensor<8x6xf32>
  %v = graph.constant dense<0.25> : tensor<8x6xf32>
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %q = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %g = graph.sigmoid %p : tensor<4x6xf32>
  %y = graph.mul %g, %q : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @computed_right_sides
func.func @computed_right_sides(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %v: tensor<8x6xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  // CHECK-COUNT-2: graph.matmul
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %q = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %pt = graph.transpose %p perm [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %qt = graph.transpose %q perm [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  func.return %pt, %qt : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @of_two_values
func.func @of_two_values(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  // CHECK-COUNT-2: graph.matmul
  %w = graph.constant dense<0.5> : tensor<8x6xf32>
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %q = graph.matmul %z, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %pt = graph.transpose %p perm [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %qt = graph.transpose %q perm [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  func.return %pt, %qt : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @a_cut_inside_of_a_row_of_the_split
func.func @a_cut_inside_of_a_row_of_the_split(%x: tensor<4x12xf32>) -> tensor<4x2x4xf32> {
  // CHECK: graph.slice
  // CHECK: graph.reshape
  %p = graph.slice %x starts [0, 2] sizes [4, 8] steps [1, 1] : (tensor<4x12xf32>) -> tensor<4x8xf32>
  %y = graph.reshape %p : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  func.return %y : tensor<4x2x4xf32>
}
