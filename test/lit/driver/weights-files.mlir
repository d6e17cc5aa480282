// Weights are keys in the text, arrays in a file beside it, or dense text where that is asked for.
// RUN: nn-opt %s --fold-constants --emit-weights=%t.safetensors --elide | filecheck %s --check-prefix=KEYS
// RUN: nn-opt %s --fold-constants --emit-weights=%t.safetensors -o %t.mlir
// RUN: nn-opt --weights=%t.safetensors --inline-weights %t.mlir | filecheck %s --check-prefix=VALUES

// KEYS:   graph.constant #graph.resource<"{{.*}}"> : tensor<20xf32>
// VALUES: graph.constant dense<[-0.000000e+00, -1.000000e+00, -2.000000e+00,
func.func @f() -> tensor<20xf32> {
  %c = graph.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0]> : tensor<20xf32>
  %n = graph.neg %c : tensor<20xf32>
  func.return %n : tensor<20xf32>
}
