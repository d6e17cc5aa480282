// Errors come as text, in colour where asked for, as JSON or as SARIF; at most so many, and with a
// traceback for those who look into nn-opt itself.
// RUN: not nn-opt --color=always %s 2>&1 | filecheck %s --check-prefix=COLOR
// RUN: not nn-opt --color=never %s 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not nn-opt --diagnostics-format=json %s 2>&1 | filecheck %s --check-prefix=JSON
// RUN: not nn-opt --diagnostics-format=sarif %s 2>&1 | filecheck %s --check-prefix=SARIF
// RUN: not nn-opt --error-limit=1 %s 2>&1 | filecheck %s --check-prefix=ONE
// RUN: not nn-opt --debug %s 2>&1 | filecheck %s --check-prefix=DEBUG

// COLOR:     {{\x1b}}[{{.*}}error:
// TEXT:      {{^}}{{[^\x1b]*}}errors.mlir:21:8: error: graph.reshape: result shape [5] has 5 elements
// JSON:      "severity": "error"
// SARIF:     "version": "2.1.0"
// ONE:       errors.mlir:21:8: error: graph.reshape
// ONE-NOT:   errors.mlir:22:8
// ONE:       note: 1 more error
// DEBUG:     Traceback (most recent call last):
// DEBUG:     errors.mlir:21:8: error: graph.reshape
func.func @f(%x: tensor<4xf32>) -> (tensor<5xf32>, tensor<6xf32>) {
  // Both are wrong.
  %y = graph.reshape %x : (tensor<4xf32>) -> tensor<5xf32>
  %z = graph.reshape %x : (tensor<4xf32>) -> tensor<6xf32>
  func.return %y, %z : tensor<5xf32>, tensor<6xf32>
}
