// RUN: nn-opt --convert-graph-to-tensor --split-input-file --verify-diagnostics %s

func.func @not_outlined(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{graph.fused: is still a region here, expected a call of a kernel}}
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{graph.relu: a size of tensor<?xf32> is unknown, and formulas need all of them}}
  %y = graph.relu %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}
