// RUN: nn-opt --load=%S/rms_norm.py --fold-norm-scale --split-input-file %s | filecheck %s

// CHECK-LABEL: @factor_joins_scale
func.func @factor_joins_scale(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %t: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[SCALE:.*]] = graph.mul %s, %t
  // CHECK-NEXT: %[[Z:.*]] = norm.rms %x, %[[SCALE]] epsilon
  // CHECK-NEXT: func.return %[[Z]]
  %y = norm.rms %x, %s epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  %z = graph.mul %y, %t : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %z : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @second_reader_stops_it
func.func @second_reader_stops_it(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %t: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-NEXT: norm.rms
  // CHECK-NEXT: graph.mul
  %y = norm.rms %x, %s epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  %z = graph.mul %y, %t : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @factor_of_rows_stays
func.func @factor_of_rows_stays(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %t: tensor<4x1xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: norm.rms
  // CHECK-NEXT: graph.mul
  %y = norm.rms %x, %s epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  %z = graph.mul %y, %t : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  func.return %z : tensor<4x8xf32>
}
