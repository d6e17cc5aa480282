// RUN: nn-opt --recognize-gelu --split-input-file %s | filecheck %s

// As BERT's exporters write it.
// CHECK-LABEL: @erf_form
// CHECK-NEXT:  %[[Y:.*]] = graph.gelu %x approximate "none"
// CHECK:       func.return %[[Y]]
func.func @erf_form(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.div %x, %r : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %b = graph.erf %a : tensor<2x3xf32>
  %c = graph.add %b, %one : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %d = graph.mul %x, %c : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = graph.mul %d, %half : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// As GPT-2 has it, with the factors in another order.
// CHECK-LABEL: @tanh_form
// CHECK-NEXT:  graph.gelu %x approximate "tanh"
func.func @tanh_form(%x: tensor<6xf32>) -> tensor<6xf32> {
  %k = graph.constant dense<0.044715> : tensor<f32>
  %s = graph.constant dense<0.7978846> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.pow %x, %three : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %b = graph.mul %k, %a : (tensor<f32>, tensor<6xf32>) -> tensor<6xf32>
  %c = graph.add %x, %b : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %d = graph.mul %c, %s : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %e = graph.tanh %d : tensor<6xf32>
  %f = graph.add %one, %e : (tensor<f32>, tensor<6xf32>) -> tensor<6xf32>
  %h = graph.mul %x, %half : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %y = graph.mul %h, %f : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

// -----

// x / sqrt(3) is something else.
// CHECK-LABEL: @other_scale_stays
// CHECK:       graph.erf
// CHECK-NOT:   graph.gelu
func.func @other_scale_stays(%x: tensor<6xf32>) -> tensor<6xf32> {
  %r = graph.constant dense<1.7320508> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.div %x, %r : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %b = graph.erf %a : tensor<6xf32>
  %c = graph.add %b, %one : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %d = graph.mul %x, %c : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %y = graph.mul %d, %half : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

// -----

// The distribution of another value is no GELU, and neither is one with a factor too much.
// CHECK-LABEL: @other_variable_stays
// CHECK:       graph.erf
// CHECK-NOT:   graph.gelu
func.func @other_variable_stays(%x: tensor<6xf32>, %z: tensor<6xf32>) -> tensor<6xf32> {
  %r = graph.constant dense<0.70710677> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.mul %z, %r : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %b = graph.erf %a : tensor<6xf32>
  %c = graph.add %b, %one : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %d = graph.mul %x, %c : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %y = graph.mul %d, %half : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

// -----

// CHECK-LABEL: @second_reader_of_erf_blocks
// CHECK:       graph.erf
// CHECK-NOT:   graph.gelu
func.func @second_reader_of_erf_blocks(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %r = graph.constant dense<0.70710677> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.mul %x, %r : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %b = graph.erf %a : tensor<6xf32>
  %c = graph.add %b, %one : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %d = graph.mul %x, %c : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %y = graph.mul %d, %half : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  func.return %y, %b : tensor<6xf32>, tensor<6xf32>
}
