// RUN: nn-opt --fuse-ops --split-input-file %s | filecheck %s

// CHECK-LABEL: @attention_is_one_kernel_with_its_moves
func.func @attention_is_one_kernel_with_its_moves(%q: tensor<1x32x2x16xf32>, %k: tensor<1x32x2x16xf32>, %v: tensor<1x32x2x16xf32>, %m: tensor<1x1x1x32xf32>) -> tensor<1x32x2x16xf32> {
  // CHECK-NEXT: graph.fused
  // CHECK-COUNT-3: graph.transpose
  // CHECK:        graph.matmul
  // CHECK-NEXT:   graph.mul
  // CHECK-NEXT:   graph.add
  // CHECK-NEXT:   graph.softmax
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.transpose
  // CHECK-NEXT:   graph.yield
  // CHECK-NOT:  graph.fused
  %c = graph.constant dense<0.25> : tensor<f32>
  %qt = graph.transpose %q perm [0, 2, 1, 3] : (tensor<1x32x2x16xf32>) -> tensor<1x2x32x16xf32>
  %kt = graph.transpose %k perm [0, 2, 3, 1] : (tensor<1x32x2x16xf32>) -> tensor<1x2x16x32xf32>
  %vt = graph.transpose %v perm [0, 2, 1, 3] : (tensor<1x32x2x16xf32>) -> tensor<1x2x32x16xf32>
  %s = graph.matmul %qt, %kt : (tensor<1x2x32x16xf32>, tensor<1x2x16x32xf32>) -> tensor<1x2x32x32xf32>
  %t = graph.mul %s, %c : (tensor<1x2x32x32xf32>, tensor<f32>) -> tensor<1x2x32x32xf32>
  %u = graph.add %t, %m : (tensor<1x2x32x32xf32>, tensor<1x1x1x32xf32>) -> tensor<1x2x32x32xf32>
  %p = graph.softmax %u axis -1 : tensor<1x2x32x32xf32>
  %o = graph.matmul %p, %vt : (tensor<1x2x32x32xf32>, tensor<1x2x32x16xf32>) -> tensor<1x2x32x16xf32>
  %y = graph.transpose %o perm [0, 2, 1, 3] : (tensor<1x2x32x16xf32>) -> tensor<1x32x2x16xf32>
  func.return %y : tensor<1x32x2x16xf32>
}

// -----

// CHECK-LABEL: @scaled_parts_of_one_tensor
func.func @scaled_parts_of_one_tensor(%x: tensor<2x32x48xf32>) -> tensor<2x32x16xf32> {
  // CHECK:      graph.fused
  // CHECK-COUNT-3: graph.slice
  // CHECK:        graph.softmax
  // CHECK:        graph.yield
  // CHECK-NOT:  graph.fused
  %c = graph.constant dense<0.25> : tensor<f32>
  %q = graph.slice %x starts [0, 0, 0] sizes [2, 32, 16] steps [1, 1, 1] : (tensor<2x32x48xf32>) -> tensor<2x32x16xf32>
  %k = graph.slice %x starts [0, 0, 16] sizes [2, 32, 16] steps [1, 1, 1] : (tensor<2x32x48xf32>) -> tensor<2x32x16xf32>
  %v = graph.slice %x starts [0, 0, 32] sizes [2, 32, 16] steps [1, 1, 1] : (tensor<2x32x48xf32>) -> tensor<2x32x16xf32>
  %qs = graph.mul %q, %c : (tensor<2x32x16xf32>, tensor<f32>) -> tensor<2x32x16xf32>
  %kt = graph.transpose %k perm [0, 2, 1] : (tensor<2x32x16xf32>) -> tensor<2x16x32xf32>
  %s = graph.matmul %qs, %kt : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
  %p = graph.softmax %s axis 2 : tensor<2x32x32xf32>
  %o = graph.matmul %p, %v : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  func.return %o : tensor<2x32x16xf32>
}

// -----

// CHECK-LABEL: @scores_that_are_a_result
func.func @scores_that_are_a_result(%q: tensor<2x32x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>, tensor<2x32x32xf32>) {
  // CHECK-COUNT-3: graph.fused
  %s = graph.matmul %q, %k : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
  %p = graph.softmax %s axis -1 : tensor<2x32x32xf32>
  %o = graph.matmul %p, %v : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  func.return %o, %p : tensor<2x32x16xf32>, tensor<2x32x32xf32>
}

// -----

// CHECK-LABEL: @softmax_over_queries
func.func @softmax_over_queries(%q: tensor<2x32x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x32x16xf32>) -> tensor<2x32x16xf32> {
  // CHECK-COUNT-3: graph.fused
  %s = graph.matmul %q, %k : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
  %p = graph.softmax %s axis 1 : tensor<2x32x32xf32>
  %o = graph.matmul %p, %v : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  func.return %o : tensor<2x32x16xf32>
}

// -----

// CHECK-LABEL: @one_query
func.func @one_query(%q: tensor<2x1x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x32x16xf32>) -> tensor<2x1x16xf32> {
  // CHECK-COUNT-3: graph.fused
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x32xf32>) -> tensor<2x1x32xf32>
  %p = graph.softmax %s axis -1 : tensor<2x1x32xf32>
  %o = graph.matmul %p, %v : (tensor<2x1x32xf32>, tensor<2x32x16xf32>) -> tensor<2x1x16xf32>
  func.return %o : tensor<2x1x16xf32>
}

// -----

// CHECK-LABEL: @few_keys
func.func @few_keys(%q: tensor<2x8x16xf32>, %k: tensor<2x16x7xf32>, %v: tensor<2x7x16xf32>) -> tensor<2x8x16xf32> {
  // CHECK-COUNT-3: graph.fused
  %s = graph.matmul %q, %k : (tensor<2x8x16xf32>, tensor<2x16x7xf32>) -> tensor<2x8x7xf32>
  %p = graph.softmax %s axis -1 : tensor<2x8x7xf32>
  %o = graph.matmul %p, %v : (tensor<2x8x7xf32>, tensor<2x7x16xf32>) -> tensor<2x8x16xf32>
  func.return %o : tensor<2x8x16xf32>
}

// -----

// CHECK-LABEL: @long_rows_that_no_blocks_divide
func.func @long_rows_that_no_blocks_divide(%q: tensor<2x32x16xf32>, %k: tensor<2x16x2039xf32>, %v: tensor<2x2039x16xf32>) -> tensor<2x32x16xf32> {
  // CHECK-COUNT-3: graph.fused
  %s = graph.matmul %q, %k : (tensor<2x32x16xf32>, tensor<2x16x2039xf32>) -> tensor<2x32x2039xf32>
  %p = graph.softmax %s axis -1 : tensor<2x32x2039xf32>
  %o = graph.matmul %p, %v : (tensor<2x32x2039xf32>, tensor<2x2039x16xf32>) -> tensor<2x32x16xf32>
  func.return %o : tensor<2x32x16xf32>
}

// -----

// CHECK-LABEL: @doubles
func.func @doubles(%q: tensor<2x32x16xf64>, %k: tensor<2x16x32xf64>, %v: tensor<2x32x16xf64>) -> tensor<2x32x16xf64> {
  // CHECK-COUNT-3: graph.fused
  %s = graph.matmul %q, %k : (tensor<2x32x16xf64>, tensor<2x16x32xf64>) -> tensor<2x32x32xf64>
  %p = graph.softmax %s axis -1 : tensor<2x32x32xf64>
  %o = graph.matmul %p, %v : (tensor<2x32x32xf64>, tensor<2x32x16xf64>) -> tensor<2x32x16xf64>
  func.return %o : tensor<2x32x16xf64>
}
