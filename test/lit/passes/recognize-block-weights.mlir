// Products by large known weights of few bits keep them so, packed; others do not change.
// RUN: nn-opt %s --recognize-block-weights | filecheck %s

// CHECK-LABEL: @known
func.func @known(%a: tensor<3x128xf32>) -> tensor<3x256xf32> {
  %w = graph.constant dense<3> : tensor<128x256xi4>
  %s = graph.constant dense<0.5> : tensor<4x256xf32>
  // CHECK: %[[W:.*]] = graph.constant #graph.resource<"{{.*}}"> : tensor<64x256xui8>
  // CHECK: %[[S:.*]] = graph.constant #graph.resource<"{{.*}}"> : tensor<4x256xf32>
  // CHECK: %[[Z:.*]] = graph.constant dense<8.000000e+00> : tensor<1x1xf32>
  // CHECK: graph.block_matmul %a, %[[W]], %[[S]], %[[Z]] block 32 bits 4
  %d = graph.dequantize %w, %s axis 0 block 32 : (tensor<128x256xi4>, tensor<4x256xf32>) -> tensor<128x256xf32>
  %y = graph.matmul %a, %d : (tensor<3x128xf32>, tensor<128x256xf32>) -> tensor<3x256xf32>
  func.return %y : tensor<3x256xf32>
}

// CHECK-LABEL: @turned
func.func @turned(%a: tensor<3x128xf32>) -> tensor<3x256xf32> {
  %w = graph.constant dense<3> : tensor<256x128xui2>
  %s = graph.constant dense<0.5> : tensor<256x2xf32>
  // CHECK: graph.block_matmul %a, %{{.*}}, %{{.*}} block 64 bits 2 : (tensor<3x128xf32>, tensor<32x256xui8>, tensor<2x256xf32>) -> tensor<3x256xf32>
  %d = graph.dequantize %w, %s axis 1 block 64 : (tensor<256x128xui2>, tensor<256x2xf32>) -> tensor<256x128xf32>
  %t = graph.transpose %d perm [1, 0] : (tensor<256x128xf32>) -> tensor<128x256xf32>
  %y = graph.matmul %a, %t : (tensor<3x128xf32>, tensor<128x256xf32>) -> tensor<3x256xf32>
  func.return %y : tensor<3x256xf32>
}

// CHECK-LABEL: @given
func.func @given(%a: tensor<3x128xf32>, %w: tensor<128x256xi4>) -> tensor<3x256xf32> {
  %s = graph.constant dense<0.5> : tensor<4x256xf32>
  // CHECK: graph.matmul
  %d = graph.dequantize %w, %s axis 0 block 32 : (tensor<128x256xi4>, tensor<4x256xf32>) -> tensor<128x256xf32>
  %y = graph.matmul %a, %d : (tensor<3x128xf32>, tensor<128x256xf32>) -> tensor<3x256xf32>
  func.return %y : tensor<3x256xf32>
}

// CHECK-LABEL: @small
func.func @small(%a: tensor<3x8xf32>) -> tensor<3x2xf32> {
  %w = graph.constant dense<3> : tensor<8x2xi4>
  %s = graph.constant dense<0.5> : tensor<1x1xf32>
  // CHECK: graph.matmul
  %d = graph.dequantize %w, %s axis 0 block 8 : (tensor<8x2xi4>, tensor<1x1xf32>) -> tensor<8x2xf32>
  %y = graph.matmul %a, %d : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}
