// RUN: nn-opt --stream-softmax --split-input-file %s | filecheck %s
// RUN: nn-opt --stream-softmax=block=16 --split-input-file %s | filecheck %s --check-prefix=BLOCKS

// CHECK-LABEL: @division_comes_last
// BLOCKS-LABEL: @division_comes_last
func.func @division_comes_last(%q: tensor<2x32x16xf32>, %k: tensor<2x32x16xf32>, %v: tensor<2x32x16xf32>, %m: tensor<1x32xf32>) -> tensor<2x32x16xf32> {
  // CHECK:      %[[S:.*]] = graph.add
  // CHECK-NEXT: %[[M:.*]] = graph.reduce %[[S]] kind "max" axes [-1] keepdims
  // CHECK-NEXT: %[[D:.*]] = graph.sub %[[S]], %[[M]]
  // CHECK-NEXT: %[[E:.*]] = graph.exp %[[D]] beside_one
  // CHECK-NEXT: %[[T:.*]] = graph.reduce %[[E]] kind "sum" axes [-1] keepdims
  // CHECK-NEXT: %[[O:.*]] = graph.matmul %[[E]]
  // CHECK-NEXT: %[[R:.*]] = graph.reciprocal %[[T]]
  // CHECK-NEXT: %[[Y:.*]] = graph.mul %[[O]], %[[R]]
  // CHECK-NEXT: graph.yield %[[Y]]

  // BLOCKS:      %[[Q:.*]] = graph.reshape %{{.*}} -> tensor<2x1x32x16xf32>
  // BLOCKS-NEXT: %[[KS:.*]] = graph.reshape %{{.*}} -> tensor<2x2x16x16xf32>
  // BLOCKS-NEXT: %[[K:.*]] = graph.transpose %[[KS]] perm [0, 1, 3, 2]
  // BLOCKS-NEXT: %[[S0:.*]] = graph.matmul %[[Q]], %[[K]] : {{.*}} -> tensor<2x2x32x16xf32>
  // BLOCKS:      %[[S:.*]] = graph.add %[[S0]]
  // BLOCKS-NEXT: %[[M0:.*]] = graph.reduce %[[S]] kind "max" axes [-1] keepdims
  // BLOCKS:      %[[M:.*]] = graph.max %[[M0]]
  // BLOCKS-NEXT: %[[D:.*]] = graph.sub %[[S]], %[[M]]
  // BLOCKS-NEXT: %[[E:.*]] = graph.exp %[[D]] beside_one
  // BLOCKS-NEXT: %[[T:.*]] = graph.reduce %[[E]] kind "sum" axes [-1] keepdims
  // BLOCKS:      %[[O:.*]] = graph.matmul %[[E]]
  // BLOCKS-NEXT: %[[H:.*]] = graph.reduce %[[M]] kind "max" axes [1] keepdims
  // BLOCKS-NEXT: %[[G:.*]] = graph.sub %[[M]], %[[H]]
  // BLOCKS-NEXT: %[[W:.*]] = graph.exp %[[G]] beside_one
  // BLOCKS-NEXT: %[[TW:.*]] = graph.mul %[[T]], %[[W]]
  // BLOCKS-NEXT: graph.reduce %[[TW]] kind "sum" axes [1]
  // BLOCKS-NEXT: %[[OW:.*]] = graph.mul %[[O]], %[[W]]
  // BLOCKS-NEXT: graph.reduce %[[OW]] kind "sum" axes [1]
  %y = graph.fused (%a = %q : tensor<2x32x16xf32>, %b = %k : tensor<2x32x16xf32>, %c = %v : tensor<2x32x16xf32>, %d = %m : tensor<1x32xf32>) -> (tensor<2x32x16xf32>) {
    %t = graph.transpose %b perm [0, 2, 1] : (tensor<2x32x16xf32>) -> tensor<2x16x32xf32>
    %s = graph.matmul %a, %t : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
    %u = graph.add %s, %d : (tensor<2x32x32xf32>, tensor<1x32xf32>) -> tensor<2x32x32xf32>
    %p = graph.softmax %u axis -1 : tensor<2x32x32xf32>
    %o = graph.matmul %p, %c : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    graph.yield %o : tensor<2x32x16xf32>
  }
  func.return %y : tensor<2x32x16xf32>
}

// -----

// CHECK-LABEL: @numbers_scale_the_scores
func.func @numbers_scale_the_scores(%q: tensor<2x32x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x32x16xf32>) -> tensor<2x32x16xf32> {
  // CHECK:      %[[S:.*]] = graph.matmul %[[Q:.*]], %[[K:.*]] :
  // CHECK-NEXT: %[[C:.*]] = graph.constant dense<1.250000e-01>
  // CHECK-NEXT: graph.mul %[[S]], %[[C]]
  // CHECK-NEXT: graph.reduce
  %y = graph.fused (%a = %q : tensor<2x32x16xf32>, %b = %k : tensor<2x16x32xf32>, %c = %v : tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>) {
    %two = graph.constant dense<2.0> : tensor<f32>
    %half = graph.constant dense<0.5> : tensor<f32>
    %a2 = graph.div %a, %two : (tensor<2x32x16xf32>, tensor<f32>) -> tensor<2x32x16xf32>
    %b2 = graph.mul %b, %half : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16x32xf32>
    %s = graph.matmul %a2, %b2 : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
    %u = graph.div %s, %two : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32x32xf32>
    %p = graph.softmax %u axis -1 : tensor<2x32x32xf32>
    %o = graph.matmul %p, %c : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    graph.yield %o : tensor<2x32x16xf32>
  }
  func.return %y : tensor<2x32x16xf32>
}

// -----

// CHECK-LABEL: @rows_without_any_key_weigh_nothing
func.func @rows_without_any_key_weigh_nothing(%s: tensor<2x32x32xf32>, %v: tensor<2x32x16xf32>) -> tensor<2x32x16xf32> {
  // CHECK:      %[[E:.*]] = graph.exp
  // CHECK-NEXT: %[[T:.*]] = graph.reduce %[[E]] kind "sum"
  // CHECK-NEXT: %[[O:.*]] = graph.matmul %[[E]]
  // CHECK-NEXT: %[[R:.*]] = graph.reciprocal %[[T]]
  // CHECK-NEXT: %[[Y:.*]] = graph.mul %[[O]], %[[R]]
  // CHECK-NEXT: %[[Z:.*]] = graph.constant dense<0.000000e+00>
  // CHECK-NEXT: %[[C:.*]] = graph.greater %[[T]], %[[Z]]
  // CHECK-NEXT: graph.where %[[C]], %[[Y]], %[[Z]]
  // CHECK-NOT:  graph.isnan
  %y = graph.fused (%a = %s : tensor<2x32x32xf32>, %c = %v : tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>) {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %p = graph.softmax %a axis -1 : tensor<2x32x32xf32>
    %n = graph.isnan %p : (tensor<2x32x32xf32>) -> tensor<2x32x32xi1>
    %w = graph.where %n, %zero, %p : (tensor<2x32x32xi1>, tensor<f32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %o = graph.matmul %w, %c : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    graph.yield %o : tensor<2x32x16xf32>
  }
  func.return %y : tensor<2x32x16xf32>
}

// -----

// A division that another product reads, and one along columns, stay.
// CHECK-LABEL: @weights_with_other_readers
func.func @weights_with_other_readers(%s: tensor<2x32x32xf32>, %v: tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>, tensor<2x32x32xf32>) {
  // CHECK: graph.softmax
  %y, %z = graph.fused (%a = %s : tensor<2x32x32xf32>, %c = %v : tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>, tensor<2x32x32xf32>) {
    %p = graph.softmax %a axis -1 : tensor<2x32x32xf32>
    %o = graph.matmul %p, %c : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    graph.yield %o, %p : tensor<2x32x16xf32>, tensor<2x32x32xf32>
  }
  func.return %y, %z : tensor<2x32x16xf32>, tensor<2x32x32xf32>
}

// -----

// CHECK-LABEL: @softmax_of_columns
func.func @softmax_of_columns(%s: tensor<2x32x32xf32>, %v: tensor<2x32x16xf32>) -> tensor<2x32x16xf32> {
  // CHECK: graph.softmax
  %y = graph.fused (%a = %s : tensor<2x32x32xf32>, %c = %v : tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>) {
    %p = graph.softmax %a axis 1 : tensor<2x32x32xf32>
    %o = graph.matmul %p, %c : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    graph.yield %o : tensor<2x32x16xf32>
  }
  func.return %y : tensor<2x32x16xf32>
}

// -----

// CHECK-LABEL: @in_kernels_of_their_own
func.func @in_kernels_of_their_own(%s: tensor<2x32x32xf32>, %v: tensor<2x32x16xf32>) -> tensor<2x32x16xf32> {
  // CHECK: graph.softmax
  %p = graph.softmax %s axis -1 : tensor<2x32x32xf32>
  %o = graph.matmul %p, %v : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  func.return %o : tensor<2x32x16xf32>
}

// -----

// Scores that are wider than their factors stay so.
// BLOCKS-LABEL: @wide_scores
func.func @wide_scores(%q: tensor<2x32x16xf16>, %k: tensor<2x16x32xf16>, %v: tensor<2x32x16xf32>) -> tensor<2x32x16xf32> {
  // BLOCKS: graph.matmul %{{.*}} wide : (tensor<2x1x32x16xf16>, tensor<2x2x16x16xf16>) -> tensor<2x2x32x16xf32>
  %y = graph.fused (%a = %q : tensor<2x32x16xf16>, %b = %k : tensor<2x16x32xf16>, %c = %v : tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>) {
    %s = graph.matmul %a, %b wide : (tensor<2x32x16xf16>, tensor<2x16x32xf16>) -> tensor<2x32x32xf32>
    %p = graph.softmax %s axis -1 : tensor<2x32x32xf32>
    %o = graph.matmul %p, %c : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    graph.yield %o : tensor<2x32x16xf32>
  }
  func.return %y : tensor<2x32x16xf32>
}
