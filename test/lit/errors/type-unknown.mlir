// RUN: nn-opt --verify-diagnostics %s

// expected-error@+1 {{Expected shape type.}}
func.func @f(%a: tensor<4xfloat>) {
  func.return
}
