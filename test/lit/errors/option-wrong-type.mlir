// RUN: not nn-opt --fuse-ops=max-depth=deep %s 2>&1 | filecheck %s

// CHECK:      error: --fuse-ops: max-depth is 'deep', expected an integer
func.func @f() {
  func.return
}
