// RUN: not nn-opt '--fuse-ops{max-depth=4' %s 2>&1 | filecheck %s

// CHECK:      error: --fuse-ops{max-depth=4: expected --fuse-ops{key=value} or --fuse-ops=key=value
func.func @f() {
  func.return
}
