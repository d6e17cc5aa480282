// RUN: nn-opt --load=%S/rms_norm.py --convert-norm-to-tensor %s | filecheck %s

// CHECK-LABEL: @main
func.func @main(%x: tensor<4x8xf32>, %scale: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[SUMS:.*]] = tensor.compute "squares" (%[[I:.*]]: 4) reduce fast add (%[[J:.*]]: 8) : tensor<4xf32> {
  // CHECK-NEXT:   %[[X:.*]] = tensor.read %x[%[[I]], %[[J]]] : tensor<4x8xf32>
  // CHECK-NEXT:   %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]] : f32
  // CHECK-NEXT:   tensor.yield %[[SQUARE]] : f32
  // CHECK:      tensor.compute "rms" (%[[I:.*]]: 4, %[[J:.*]]: 8) : tensor<4x8xf32> {
  // CHECK:        tensor.read %[[SUMS]][%[[I]]] : tensor<4xf32>
  // CHECK:        math.rsqrt
  // CHECK:        tensor.read %scale[%[[J]]] : tensor<8xf32>
  %y = norm.rms %x, %scale epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  func.return %y : tensor<4x8xf32>
}
