// RUN: nn-opt --split-input-file --fuse-ops %s | filecheck %s

// A kernel of WebGPU has 8 buffers: 6 that are read, a result, and one between.
builtin.module attributes {nn.target = "webgpu"} {
  // CHECK-LABEL: @many_operands
  func.func @many_operands(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>, %f: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK:     graph.fused
    // CHECK:     graph.fused
    // CHECK-NOT: graph.fused
    %0 = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = graph.add %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = graph.add %1, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = graph.add %2, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = graph.add %3, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %5 = graph.add %4, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    func.return %5 : tensor<4xf32>
  }
}

// -----

builtin.module attributes {nn.target = "webgpu"} {
  // CHECK-LABEL: @many_parts
  func.func @many_parts(%a: tensor<2x3xf32>) -> tensor<2x24xf32> {
    // CHECK:      graph.concat %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} axis 1
    // CHECK-SAME: -> tensor<2x18xf32>
    // CHECK:      graph.concat %{{.*}}, %{{.*}} axis 1
    // CHECK-SAME: -> tensor<2x6xf32>
    // CHECK:      graph.concat %{{.*}}, %{{.*}} axis 1
    // CHECK-SAME: -> tensor<2x24xf32>
    %0 = graph.concat %a, %a, %a, %a, %a, %a, %a, %a axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x24xf32>
    func.return %0 : tensor<2x24xf32>
  }
}

// -----

// Kernels write their parts in place where each begins at a multiple of 256 bytes.
builtin.module attributes {nn.target = "opencl"} {
  // CHECK-LABEL: @aligned_parts
  func.func @aligned_parts(%a: tensor<1x64xf32>) -> tensor<1x128xf32> {
    // CHECK-NOT: graph.fused {{.*}} -> (tensor<1x128xf32>)
    // CHECK:     graph.concat
    %0 = graph.relu %a : tensor<1x64xf32>
    %1 = graph.tanh %a : tensor<1x64xf32>
    %2 = graph.concat %0, %1 axis 1 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x128xf32>
    func.return %2 : tensor<1x128xf32>
  }
  // CHECK-LABEL: @other_parts
  func.func @other_parts(%a: tensor<1x50xf32>) -> tensor<1x100xf32> {
    // CHECK: graph.fused
    // CHECK: graph.fused
    // CHECK: graph.fused {{.*}} -> (tensor<1x100xf32>)
    %0 = graph.relu %a : tensor<1x50xf32>
    %1 = graph.tanh %a : tensor<1x50xf32>
    %2 = graph.concat %0, %1 axis 1 : (tensor<1x50xf32>, tensor<1x50xf32>) -> tensor<1x100xf32>
    func.return %2 : tensor<1x100xf32>
  }
}

// -----

// 8 rows of 300 scores and as many weights take 19200 bytes of the 24576 that a block may use.
builtin.module attributes {nn.target = "opencl"} {
  // CHECK-LABEL: @scores_of_a_block
  func.func @scores_of_a_block(%q: tensor<2x9x8xf32>, %k: tensor<2x8x300xf32>, %v: tensor<2x300x12xf32>) -> tensor<2x9x12xf32> {
    // CHECK:     graph.fused
    // CHECK-NOT: graph.fused
    %s = graph.matmul %q, %k : (tensor<2x9x8xf32>, tensor<2x8x300xf32>) -> tensor<2x9x300xf32>
    %w = graph.softmax %s axis -1 : tensor<2x9x300xf32>
    %y = graph.matmul %w, %v : (tensor<2x9x300xf32>, tensor<2x300x12xf32>) -> tensor<2x9x12xf32>
    func.return %y : tensor<2x9x12xf32>
  }
  // CHECK-LABEL: @too_many_scores
  func.func @too_many_scores(%q: tensor<2x9x8xf32>, %k: tensor<2x8x500xf32>, %v: tensor<2x500x12xf32>) -> tensor<2x9x12xf32> {
    // CHECK: graph.fused
    // CHECK: graph.fused
    // CHECK: graph.fused
    %s = graph.matmul %q, %k : (tensor<2x9x8xf32>, tensor<2x8x500xf32>) -> tensor<2x9x500xf32>
    %w = graph.softmax %s axis -1 : tensor<2x9x500xf32>
    %y = graph.matmul %w, %v : (tensor<2x9x500xf32>, tensor<2x500x12xf32>) -> tensor<2x9x12xf32>
    func.return %y : tensor<2x9x12xf32>
  }
}
