// RUN: not nn-opt --fuse-opps %s 2>&1 | filecheck %s

// CHECK:      error: unknown pass or option '--fuse-opps'
// CHECK-NEXT:   hint: did you mean --fuse-ops?
func.func @f() {
  func.return
}
