// RUN: not nn-opt --pass-pipeline='cse)' %s 2>&1 | filecheck %s

// CHECK:      --pass-pipeline:1:4: error: expected ',' or the end, got ')'
func.func @f() {
  func.return
}
