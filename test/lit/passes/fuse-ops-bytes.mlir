// RUN: nn-opt --fuse-ops %s | filecheck %s

// Of two matmuls that meet in a sum one is in its kernel; the other one gives it bytes, not floats.
// CHECK-LABEL: @meet
// CHECK:       %[[P:.*]] = graph.fused {{.*}} -> (tensor<4x4xui8>) {
// CHECK-NEXT:    graph.matmul
// CHECK:       graph.fused {{.*}} = %[[P]] {{.*}} -> (tensor<4x4xf32>) {
// CHECK:         graph.matmul
// CHECK:         graph.add
func.func @meet(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = graph.matmul %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %pb = graph.cast %p : (tensor<4x4xf32>) -> tensor<4x4xui8>
  %pf = graph.cast %pb : (tensor<4x4xui8>) -> tensor<4x4xf32>
  %q = graph.matmul %b, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %qb = graph.cast %q : (tensor<4x4xf32>) -> tensor<4x4xui8>
  %qf = graph.cast %qb : (tensor<4x4xui8>) -> tensor<4x4xf32>
  %y = graph.add %pf, %qf : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
