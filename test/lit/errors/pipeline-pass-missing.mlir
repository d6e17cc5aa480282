// RUN: not nn-opt --pass-pipeline='cse,,dce' %s 2>&1 | filecheck %s

// CHECK:      --pass-pipeline:1:5: error: expected a pass or pipeline, got ','
func.func @f() {
  func.return
}
