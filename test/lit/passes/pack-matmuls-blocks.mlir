// Weights of few bits become words in panels of columns, as wide as a tile is.
// RUN: nn-opt --pack-matmuls --target=x86-64-v4 %s | filecheck %s

// CHECK-LABEL: @one_row
func.func @one_row(%a: tensor<1x512xf32>) -> tensor<1x256xf32> {
  %w = graph.constant dense<18> : tensor<256x256xui8>
  %s = graph.constant dense<0.5> : tensor<16x256xf32>
  %z = graph.constant dense<8.0> : tensor<1x1xf32>
  // CHECK-DAG: %[[W:.*]] = graph.constant {{.*}} : tensor<2x64x128xui32>
  // CHECK-DAG: %[[S:.*]] = graph.constant {{.*}} : tensor<2x16x128xf32>
  // CHECK-DAG: %[[Z:.*]] = graph.constant {{.*}} : tensor<1x1x1xui8>
  // CHECK: graph.block_matmul %a, %[[W]], %[[S]], %[[Z]] block 32 bits 4 : {{.*}} -> tensor<1x256xf32>
  %y = graph.block_matmul %a, %w, %s, %z block 32 bits 4 : (tensor<1x512xf32>, tensor<256x256xui8>, tensor<16x256xf32>, tensor<1x1xf32>) -> tensor<1x256xf32>
  func.return %y : tensor<1x256xf32>
}

// Of several rows each is a sum of its own; zero points that are no bytes stay floats.
// CHECK-LABEL: @rows
func.func @rows(%a: tensor<16x512xf32>) -> tensor<16x256xf32> {
  %w = graph.constant dense<18> : tensor<256x256xui8>
  %s = graph.constant dense<0.5> : tensor<16x256xf32>
  %z = graph.constant dense<7.5> : tensor<1x1xf32>
  // CHECK: graph.block_matmul {{.*}} : (tensor<16x512xf32>, tensor<8x64x32xui32>, tensor<8x16x32xf32>, tensor<1x1x1xf32>)
  %y = graph.block_matmul %a, %w, %s, %z block 32 bits 4 : (tensor<16x512xf32>, tensor<256x256xui8>, tensor<16x256xf32>, tensor<1x1xf32>) -> tensor<16x256xf32>
  func.return %y : tensor<16x256xf32>
}

// Blocks that are no whole words, columns that are no whole vectors and
// weights that are no constant stay.
// CHECK-LABEL: @kept
func.func @kept(%a: tensor<1x512xf32>, %w: tensor<256x256xui8>) -> (tensor<1x256xf32>, tensor<1x250xf32>, tensor<1x256xf32>) {
  %v = graph.constant dense<18> : tensor<256x256xui8>
  %s = graph.constant dense<0.5> : tensor<128x256xf32>
  // CHECK: graph.block_matmul %a, {{.*}} : (tensor<1x512xf32>, tensor<256x256xui8>,
  %x = graph.block_matmul %a, %v, %s block 4 bits 4 : (tensor<1x512xf32>, tensor<256x256xui8>, tensor<128x256xf32>) -> tensor<1x256xf32>
  %o = graph.constant dense<18> : tensor<256x250xui8>
  %t = graph.constant dense<0.5> : tensor<16x250xf32>
  // CHECK: graph.block_matmul %a, {{.*}} : (tensor<1x512xf32>, tensor<256x250xui8>,
  %y = graph.block_matmul %a, %o, %t block 32 bits 4 : (tensor<1x512xf32>, tensor<256x250xui8>, tensor<16x250xf32>) -> tensor<1x250xf32>
  %r = graph.constant dense<0.5> : tensor<16x256xf32>
  // CHECK: graph.block_matmul %a, %w, {{.*}} : (tensor<1x512xf32>, tensor<256x256xui8>,
  %z = graph.block_matmul %a, %w, %r block 32 bits 4 : (tensor<1x512xf32>, tensor<256x256xui8>, tensor<16x256xf32>) -> tensor<1x256xf32>
  func.return %x, %y, %z : tensor<1x256xf32>, tensor<1x250xf32>, tensor<1x256xf32>
}
