// RUN: not nn-opt '--fuse-ops{max-depth=4 max-depth=5}' %s 2>&1 | filecheck %s

// CHECK:      error: --fuse-ops: max-depth is given twice
func.func @f() {
  func.return
}
