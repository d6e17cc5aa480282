// Element types of 8, 6, 4 and 2 bits: their constants, and the fields of casts to them.
// RUN: nn-opt %s | filecheck %s
// RUN: nn-opt --print-op-generic %s | nn-opt | filecheck %s
// RUN: nn-opt %s --convert-graph-to-tensor | filecheck %s --check-prefix=TENSOR

// TENSOR: arg_dtypes = ["float8_e4m3fn", "uint4"], result_dtypes = ["float8_e5m2", "int2"]
// CHECK-LABEL: @main
func.func @main(%x: tensor<4xf8E4M3FN>, %n: tensor<2xui4>) -> (tensor<4xf8E5M2>, tensor<2xi2>) {
  // CHECK: graph.cast %x : (tensor<4xf8E4M3FN>) -> tensor<4xf8E5M2>
  // TENSOR: tensor.read %x[%i] : tensor<4xi8>
  %a = graph.cast %x : (tensor<4xf8E4M3FN>) -> tensor<4xf8E5M2>
  // CHECK: graph.cast %n : (tensor<2xui4>) -> tensor<2xi2>
  // TENSOR: tensor.read %n[%i{{.*}}] : tensor<2xi8>
  %b = graph.cast %n : (tensor<2xui4>) -> tensor<2xi2>
  func.return %a, %b : tensor<4xf8E5M2>, tensor<2xi2>
}

// CHECK-LABEL: @fields
func.func @fields(%x: tensor<4xf32>, %s: tensor<4xf8E4M3FNUZ>) {
  // CHECK: graph.cast %x unsaturated : (tensor<4xf32>) -> tensor<4xf8E5M2FNUZ>
  %a = graph.cast %x unsaturated : (tensor<4xf32>) -> tensor<4xf8E5M2FNUZ>
  // CHECK: graph.cast %x round_mode "down" : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  %b = graph.cast %x round_mode "down" : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  // CHECK: graph.bitcast %s : (tensor<4xf8E4M3FNUZ>) -> tensor<4xi8>
  %c = graph.bitcast %s : (tensor<4xf8E4M3FNUZ>) -> tensor<4xi8>
  func.return
}

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: dense<[-1, 7]> : tensor<2xi4>
  %a = graph.constant dense<[-1, 7]> : tensor<2xi4>
  // CHECK: dense<[15, 3]> : tensor<2xui4>
  %b = graph.constant dense<[15, 3]> : tensor<2xui4>
  // CHECK: dense<[-2, 1]> : tensor<2xi2>
  %c = graph.constant dense<[-2, 1]> : tensor<2xi2>
  // CHECK: dense<[-6.000000e+00, 5.000000e-01]> : tensor<2xf4E2M1FN>
  %d = graph.constant dense<[-6.0, 0.5]> : tensor<2xf4E2M1FN>
  // CHECK: dense<"0xFF38"> : tensor<2xf8E4M3FN>
  %e = graph.constant dense<"0xFF38"> : tensor<2xf8E4M3FN>
  // CHECK: dense<[1.000000e+00, 7.500000e+00]> : tensor<2xf6E2M3FN>
  %f = graph.constant dense<[1.0, 7.5]> : tensor<2xf6E2M3FN>
  func.return
}

// CHECK-LABEL: @blocks
func.func @blocks(%a: tensor<3x8xf32>, %w: tensor<8x2xi4>, %s: tensor<2x2xf32>, %z: tensor<2x2xi4>, %p: tensor<4x2xui8>) {
  // CHECK: graph.dequantize %w, %s axis 0 block 4 : (tensor<8x2xi4>, tensor<2x2xf32>) -> tensor<8x2xf16>
  %b = graph.dequantize %w, %s axis 0 block 4 : (tensor<8x2xi4>, tensor<2x2xf32>) -> tensor<8x2xf16>
  // CHECK: graph.dequantize %w, %s, %z axis 0 block 4 : (tensor<8x2xi4>, tensor<2x2xf32>, tensor<2x2xi4>) -> tensor<8x2xf32>
  %c = graph.dequantize %w, %s, %z axis 0 block 4 : (tensor<8x2xi4>, tensor<2x2xf32>, tensor<2x2xi4>) -> tensor<8x2xf32>
  // CHECK: graph.block_matmul %a, %p, %s, %s block 4 bits 4 : (tensor<3x8xf32>, tensor<4x2xui8>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %d = graph.block_matmul %a, %p, %s, %s block 4 bits 4 : (tensor<3x8xf32>, tensor<4x2xui8>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  func.return
}
