// RUN: not nn-opt --check --cse %s 2>&1 | filecheck %s

// CHECK:      error: func.func: @g has no body to run
// CHECK-NEXT: {{.*}}
// CHECK-NEXT: {{.*}}
// CHECK-NEXT:   hint: define it in this module
func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
