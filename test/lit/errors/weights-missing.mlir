// RUN: not nn-opt --inline-weights %s 2>&1 | filecheck %s

// CHECK:      error: the weights of resource 'w' are not here
// CHECK-NEXT:   hint: pass the file that was written beside the text: --weights=FILE
func.func @f() -> tensor<20xf32> {
  %c = graph.constant #graph.resource<"w"> : tensor<20xf32>
  func.return %c : tensor<20xf32>
}
