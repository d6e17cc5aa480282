// RUN: not nn-opt '--fuse-ops{max-depht=4}' %s 2>&1 | filecheck %s

// CHECK:      error: --fuse-ops has no option 'max-depht'
// CHECK-NEXT:   hint: did you mean max-depth?
func.func @f() {
  func.return
}
