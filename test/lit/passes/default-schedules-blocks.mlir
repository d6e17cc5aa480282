// Weights in blocks: products of a block are summed in registers, then added to a tile, block by block.
// RUN: nn-opt --target=x86-64-v4 --convert-graph-to-tensor --convert-tensor-to-loop --default-schedules %s | filecheck %s

// CHECK: sched.script for @one_row {
// CHECK:   sched.compute_at "block_matmul"
// CHECK:   sched.compute_at "block_products" at %kb
// CHECK:   sched.set_scope "block_products" in "register"
// CHECK:   sched.set_scope "block_matmul" in "register"
func.func private @one_row(%a: tensor<1x512xf32>, %w: tensor<2x64x128xui32>, %s: tensor<2x16x128xf32>, %z: tensor<1x1x1xui8>) -> tensor<1x256xf32> attributes {kernel} {
  %y = graph.block_matmul %a, %w, %s, %z block 32 bits 4 : (tensor<1x512xf32>, tensor<2x64x128xui32>, tensor<2x16x128xf32>, tensor<1x1x1xui8>) -> tensor<1x256xf32>
  func.return %y : tensor<1x256xf32>
}

// Two tiles of eight rows do not fit into registers.
// CHECK: sched.script for @rows {
// CHECK:   sched.set_scope "block_products" in "register"
// CHECK:   sched.set_scope "block_matmul" in "stack"
func.func private @rows(%a: tensor<16x512xf32>, %w: tensor<8x64x32xui32>, %s: tensor<8x16x32xf32>) -> tensor<16x256xf32> attributes {kernel} {
  %y = graph.block_matmul %a, %w, %s block 32 bits 4 : (tensor<16x512xf32>, tensor<8x64x32xui32>, tensor<8x16x32xf32>) -> tensor<16x256xf32>
  func.return %y : tensor<16x256xf32>
}
