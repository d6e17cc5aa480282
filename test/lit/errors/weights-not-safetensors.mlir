// RUN: not nn-opt --weights=%s %s 2>&1 | filecheck %s

// CHECK:      weights-not-safetensors.mlir: error: this is no safetensors file
func.func @f() -> tensor<20xf32> {
  %c = graph.constant #graph.resource<"w"> : tensor<20xf32>
  func.return %c : tensor<20xf32>
}
