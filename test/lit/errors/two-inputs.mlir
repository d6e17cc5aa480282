// RUN: not nn-opt %s other.mlir 2>&1 | filecheck %s

// CHECK:      error: more than one input file: 'other.mlir'
func.func @f() {
  func.return
}
