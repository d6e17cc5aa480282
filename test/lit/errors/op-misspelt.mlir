// RUN: not nn-opt %s 2>&1 | filecheck %s

// CHECK:      op-misspelt.mlir:8:8: error: unknown operation 'graph.reluu'
// CHECK-NEXT:   %y = graph.reluu %x : tensor<4xf32>
// CHECK-NEXT:        ^
// CHECK-NEXT:   hint: did you mean graph.relu?
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.reluu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
