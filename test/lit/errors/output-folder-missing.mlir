// RUN: not nn-opt %s -o %t.nowhere/out.mlir 2>&1 | filecheck %s

// CHECK:      out.mlir: error: No such file or directory
func.func @f() {
  func.return
}
