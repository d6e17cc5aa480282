// RUN: nn-opt --outline-kernels --split-input-file %s | filecheck %s

// CHECK-LABEL: @equal_regions_share_a_kernel
func.func @equal_regions_share_a_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = func.call @exp_neg_0(%x)
  // CHECK-NEXT: %[[B:.*]] = func.call @exp_neg_0(%[[A]])
  // CHECK-NEXT: func.return %[[B]]
  // CHECK:      func.func private @exp_neg_0(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> attributes {kernel}
  // CHECK-NEXT:   graph.exp
  // CHECK-NEXT:   graph.neg
  // CHECK-NEXT:   func.return
  // CHECK-NOT:  @exp_neg_1
  %a = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = graph.exp %p : tensor<4xf32>
    %n = graph.neg %e : tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  %b = graph.fused (%other = %a : tensor<4xf32>) -> (tensor<4xf32>) {
    %name = graph.exp %other : tensor<4xf32>
    %differs = graph.neg %name : tensor<4xf32>
    graph.yield %differs : tensor<4xf32>
  }
  func.return %b : tensor<4xf32>
}

// -----

// CHECK-LABEL: @other_properties_shapes_or_constants_make_other_kernels
func.func @other_properties_shapes_or_constants_make_other_kernels(%x: tensor<4xf32>, %y: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: func.call @leaky_relu_0(%x)
  // CHECK: func.call @leaky_relu_1(%y)
  // CHECK: func.call @leaky_relu_2(%x)
  // CHECK: func.call @mul_0(%x)
  // CHECK: func.call @mul_1(%x)
  %a = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %r = graph.leaky_relu %p alpha 0.5 : tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  %b = graph.fused (%p = %y : tensor<5xf32>) -> (tensor<5xf32>) {
    %r = graph.leaky_relu %p alpha 0.5 : tensor<5xf32>
    graph.yield %r : tensor<5xf32>
  }
  %c = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %r = graph.leaky_relu %p alpha 0.25 : tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  %d = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %s = graph.constant dense<2.0> : tensor<f32>
    %r = graph.mul %p, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  %e = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %s = graph.constant dense<3.0> : tensor<f32>
    %r = graph.mul %p, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  func.return %a, %b, %c, %e : tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @a_taken_name_is_passed_over
// CHECK: func.call @exp_1
func.func @a_taken_name_is_passed_over(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = graph.exp %p : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  }
  func.return %a : tensor<4xf32>
}
func.func @exp_0(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// CHECK-LABEL: @calls_know_the_nodes_of_the_model
// CHECK: func.call @exp_neg_0(%x) {nn.nodes = ["block1/exp", "block1/neg"]}
func.func @calls_know_the_nodes_of_the_model(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = graph.exp %p : tensor<4xf32> loc("block1/exp")
    %n = graph.neg %e : tensor<4xf32> loc("block1/neg")
    graph.yield %n : tensor<4xf32>
  }
  func.return %a : tensor<4xf32>
}

// -----

// CHECK-LABEL: @kernels_of_a_scan_are_called_in_its_body
func.func @kernels_of_a_scan_are_called_in_its_body(%h: tensor<4xf32>, %xs: tensor<9x4xf32>) -> tensor<4xf32> {
  // CHECK:      graph.scan
  // CHECK-NEXT:   func.call @add_0
  // CHECK-NEXT:   graph.yield
  %last = graph.scan (%s = %h : tensor<4xf32>) over (%x = %xs : tensor<9x4xf32>) -> (tensor<4xf32>) {
    %f = graph.fused (%p = %s : tensor<4xf32>, %q = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %n = graph.add %p, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    }
    graph.yield %f : tensor<4xf32>
  }
  func.return %last : tensor<4xf32>
}
