// RUN: nn-opt --fuse-ops=max-depth=2 %s | filecheck %s

// CHECK-LABEL: @a_kernel_has_two_ops_at_most
func.func @a_kernel_has_two_ops_at_most(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.neg
  // CHECK-NEXT:   graph.exp
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.fused
  // CHECK-NEXT:   graph.tanh
  %a = graph.neg %x : tensor<4xf32>
  %b = graph.exp %a : tensor<4xf32>
  %c = graph.tanh %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
