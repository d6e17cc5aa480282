// RUN: not nn-opt %s --pass-pipeline 2>&1 | filecheck %s

// CHECK:      error: argument --pass-pipeline: expected one argument
func.func @f() {
  func.return
}
