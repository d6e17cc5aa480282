// RUN: nn-opt %s | nn-opt | filecheck %s

// CHECK-LABEL: @parts
func.func @parts(%a: tensor<1x2x3xf32>, %b: tensor<1x3xf32>) -> tensor<3x3xf32> {
  // CHECK-NEXT: tensor.join %a, %b : tensor<1x2x3xf32>, tensor<1x3xf32> to tensor<3x3xf32>
  %y = tensor.join %a, %b : tensor<1x2x3xf32>, tensor<1x3xf32> to tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}
