// RUN: not nn-opt '--fuse-ops{=4}' %s 2>&1 | filecheck %s

// CHECK:      error: --fuse-ops: expected key=value, got '=4'
func.func @f() {
  func.return
}
