// RUN: nn-opt %s | nn-opt | filecheck %s

// What dense_resource<...> names is kept with the module.
// CHECK:      arith.constant dense_resource<weights> : tensor<2xf32>
// CHECK:      {-#
// CHECK-NEXT:   dialect_resources: {
// CHECK-NEXT:     builtin: {
// CHECK-NEXT:       weights: "0x040000000000803F00000040"
func.func @kept() -> tensor<2xf32> {
  %c = arith.constant dense_resource<weights> : tensor<2xf32>
  func.return %c : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
