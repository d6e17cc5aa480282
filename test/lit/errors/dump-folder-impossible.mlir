// RUN: not nn-opt --print-ir-tree-dir=%s --cse %s 2>&1 | filecheck %s

// CHECK:      dump-folder-impossible.mlir: error: 
func.func @f() {
  func.return
}
