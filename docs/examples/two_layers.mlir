func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %v: tensor<16x3xf32>) -> tensor<4x3xf32> {
  %a = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = graph.relu %a : tensor<4x16xf32>
  %c = graph.matmul %b, %v : (tensor<4x16xf32>, tensor<16x3xf32>) -> tensor<4x3xf32>
  func.return %c : tensor<4x3xf32>
}
