// RUN: nn-opt --split-input-file --verify-diagnostics --convert-tensor-to-loop %s

func.func @other_level(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{graph.relu: takes or returns a tensor, and convert-tensor-to-loop has no rule for it}}
  %y = graph.relu %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// -----

// expected-error@+1 {{func.func: returns index beside tensors}}
func.func @other_result(%x: tensor<2xf32>, %i: index) -> (tensor<2xf32>, index) {
  func.return %x, %i : tensor<2xf32>, index
}
