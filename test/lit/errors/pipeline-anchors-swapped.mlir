// RUN: not nn-opt --pass-pipeline='func.func(builtin.module(cse))' %s 2>&1 | filecheck %s

// CHECK:      --pass-pipeline:1:11: error: no 'builtin.module' is in a 'func.func'
func.func @f() {
  func.return
}
