// RUN: not nn-opt --run-reproducer %s 2>&1 | filecheck %s

// CHECK:      reproducer-is-none.mlir:1:1: error: this is no reproducer
// CHECK-NEXT:   hint: --crash-reproducer=FILE writes one when a pass fails
func.func @f() {
  func.return
}
