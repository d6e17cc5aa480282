// RUN: not nn-opt --pass-pipeline='gpu.module(cse)' %s 2>&1 | filecheck %s

// CHECK:      --pass-pipeline:1:1: error: no pass runs on 'gpu.module'
func.func @f() {
  func.return
}
