// RUN: not nn-opt --pass-pipeline='builtin.module(cse' %s 2>&1 | filecheck %s

// CHECK:      --pass-pipeline:1:19: error: expected ',' or ')', got the end
func.func @f() {
  func.return
}
